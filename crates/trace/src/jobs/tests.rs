use super::{Job, Jobs};
use headstack_units::{Span, Time};

fn jobs(toml: &str) -> Result<Jobs, crate::TraceError> {
    #[derive(serde::Deserialize)]
    struct File {
        jobs: Vec<Job>,
    }
    let file: File = toml::from_str(toml).expect("TOML");
    Jobs::new(&file.jobs, 7)
}

/// Plays jobs against a device that serves each request in `service`, any number at once: issue times in
/// milliseconds by thread, up to `until_ms`.
fn play(jobs: &mut Jobs, service: Span, until_ms: f64) -> Vec<(u32, f64)> {
    let mut issued = Vec::new();
    while jobs.next_time() < Time::from_secs_f64(until_ms * 1e-3) {
        let now = jobs.next_time();
        if let Some((request, thread)) = jobs.take() {
            assert_eq!(request.time, now);
            issued.push((thread, now.0 as f64 * 1e-6));
            jobs.ended(thread, now + service);
        }
    }
    issued
}

#[test]
fn a_thread_waits_for_its_request_and_thinks() {
    let mut j = jobs("[[jobs]]\nthreads = 2\nthink_time = \"1 ms\"").unwrap();
    let issued = play(&mut j, Span::from_ms(4.0), 11.0);
    assert_eq!(
        issued,
        [(0, 0.0), (1, 0.0), (0, 5.0), (1, 5.0), (0, 10.0), (1, 10.0)]
    );
}

/// At 100/s a thread is due every 10 ms. One whose request took 25 ms is late and issues at once.
#[test]
fn rates_are_kept_and_caught_up() {
    let mut j = jobs("[[jobs]]\nthreads = 2\nrate = \"100/s\"\ntogether = true").unwrap();
    let mut issued = Vec::new();
    for end in [25.0, 25.0, 26.0, 26.0, 27.0, 27.0] {
        let now = j.next_time().0 as f64 * 1e-6;
        let (_, thread) = j.take().unwrap();
        issued.push((thread, now));
        j.ended(thread, Time::from_secs_f64(end * 1e-3));
    }
    // 10 ms and 20 ms were missed: both come at once, then 30 ms.
    assert_eq!(
        issued,
        [
            (0, 0.0),
            (1, 0.0),
            (0, 25.0),
            (1, 25.0),
            (0, 26.0),
            (1, 26.0)
        ]
    );
    assert_eq!(j.next_time(), Time(30_000_000));
}

#[test]
fn threads_apart_have_phases_of_their_own() {
    let mut j = jobs("[[jobs]]\nthreads = 50\nrate = \"10/s\"").unwrap();
    let issued = play(&mut j, Span::from_ms(1.0), 1000.0);
    assert_eq!(issued.len(), 500);
    let mut first: Vec<f64> = issued[..50].iter().map(|(_, t)| *t).collect();
    first.dedup();
    assert_eq!(first.len(), 50);
    assert!(first[0] < 20.0 && first[49] > 80.0, "{first:?}");
}

/// 40 KiB in requests of 4 KiB are ten, on each device, in each of three bursts a second apart.
#[test]
fn bursts_of_a_volume_on_each_device() {
    let toml = "[[jobs]]\nthreads = 3\ndevices = 2\nfirst_device = 4\nvolume = \"40 KiB\"\nstart = \"2 s\"\n\
                every = \"1 s\"\nbursts = 3\noffset = \"8 KiB\"\nrequests = { footprint = \"4 KiB\" }";
    let mut j = jobs(toml).unwrap();
    let mut count = std::collections::BTreeMap::new();
    while j.next_time() < Time::NEVER {
        let now = j.next_time();
        let Some((request, thread)) = j.take() else {
            continue;
        };
        assert_eq!((request.lba.0, request.blocks), (16, 8));
        let second = now.0 / 1_000_000_000;
        *count.entry((second, request.device)).or_insert(0) += 1;
        j.ended(thread, now + Span::from_ms(3.0));
    }
    let wanted: Vec<_> = [2, 3, 4]
        .iter()
        .flat_map(|s| [((*s, 4), 10), ((*s, 5), 10)])
        .collect();
    assert_eq!(count.into_iter().collect::<Vec<_>>(), wanted);
}

/// A burst that takes 30 ms delays one that is due 10 ms after its beginning.
#[test]
fn a_long_burst_delays_the_next() {
    let toml = "[[jobs]]\nthreads = 1\nvolume = \"12 KiB\"\nevery = \"10 ms\"\nbursts = 2";
    let issued = play(&mut jobs(toml).unwrap(), Span::from_ms(10.0), 1000.0);
    let times: Vec<f64> = issued.iter().map(|(_, t)| *t).collect();
    assert_eq!(times, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
}

#[test]
fn a_duration_ends_a_job() {
    let toml = "[[jobs]]\nthreads = 1\nduration = \"25 ms\"";
    let issued = play(&mut jobs(toml).unwrap(), Span::from_ms(10.0), 1000.0);
    assert_eq!(issued.len(), 3);
}

#[test]
fn the_same_seed_gives_the_same_requests_and_each_device_others() {
    let toml = "[[jobs]]\nthreads = 1\ndevices = 2\nrequests = { footprint = \"1 TB\" }";
    let lbas = |seed: u64| -> Vec<(u32, u64)> {
        #[derive(serde::Deserialize)]
        struct File {
            jobs: Vec<Job>,
        }
        let file: File = toml::from_str(toml).expect("TOML");
        let mut j = Jobs::new(&file.jobs, seed).unwrap();
        (0..10)
            .map(|_| {
                let now = j.next_time();
                let (r, thread) = j.take().unwrap();
                j.ended(thread, now + Span::from_ms(1.0));
                (r.device, r.lba.0)
            })
            .collect()
    };
    assert_eq!(lbas(1), lbas(1));
    assert_ne!(lbas(1), lbas(2));
    let first = lbas(1);
    assert_eq!((first[0].0, first[1].0), (0, 1));
    assert_ne!(first[0].1, first[1].1);
}

#[test]
fn refuses_what_cannot_be() {
    for (toml, key) in [
        ("threads = 0", "jobs.0.threads"),
        ("threads = 1\nbursts = 2", "jobs.0.every"),
        ("threads = 1\nevery = \"1 s\"", "jobs.0.bursts"),
        ("threads = 1\nevery = \"1 s\"\nbursts = 2", "jobs.0.bursts"),
        ("threads = 1\nrate = \"0/s\"", "jobs.0.rate"),
        ("threads = 1\ntogether = true", "jobs.0.rate"),
        ("threads = 1\nstart = \"-1 s\"", "jobs.0.start"),
        ("threads = 1\nthink_time = \"-1 s\"", "jobs.0.think_time"),
        ("threads = 1\noffset = \"100 B\"", "jobs.0.offset"),
        ("threads = 1\nvolume = \"0 B\"", "jobs.0.volume"),
        (
            "threads = 1\nrequests = { reads = 2 }",
            "jobs.0.requests.reads",
        ),
        (
            "threads = 1\nrequests = { rate = \"3/s\" }",
            "jobs.0.requests.rate",
        ),
        (
            "threads = 1\nrequests = { devices = 2 }",
            "jobs.0.requests.devices",
        ),
    ] {
        let error = jobs(&format!("[[jobs]]\n{toml}"))
            .err()
            .expect(toml)
            .to_string();
        assert!(error.contains(key), "{toml}: {error}");
    }
}
