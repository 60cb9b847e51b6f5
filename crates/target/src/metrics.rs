//! What a live system has counted, as Prometheus reads it (text format 0.0.4).

use crate::counters::Ops;
use crate::energy::SAMPLE;
use crate::live::Live;
use headstack_metrics::Text;

/// Upper bounds of the buckets of response times, in seconds.
const RESPONSE_S: [f64; 16] =
    [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 1.5e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Upper bounds of the buckets of lateness, in seconds.
const LATENESS_S: [f64; 10] = [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1];

/// The text of all metrics.
pub fn text(live: &mut Live) -> String {
    let mut page = Text::default();
    let now = live.now();
    page.begin("headstack_simulated_seconds", "gauge", "Simulated time.");
    page.value("", "", now.0 as f64 * 1e-9);
    operations(&mut page, live);
    page.begin("headstack_outstanding_requests", "gauge", "Requests at a device.");
    for (i, device) in live.counters.devices.iter().enumerate() {
        page.value("", &format!("device=\"{i}\""), device.in_flight as f64);
    }
    page.begin("headstack_busy_seconds_total", "counter", "Time with requests at a device.");
    for (i, device) in live.counters.devices.iter().enumerate() {
        page.value("", &format!("device=\"{i}\""), device.busy_ns(now) as f64 * 1e-9);
    }
    page.begin("headstack_errors_total", "counter", "Failed requests by kind of error.");
    for (kind, n) in &live.counters.errors {
        page.value("", &format!("kind=\"{kind}\""), *n as f64);
    }
    let counters = &live.counters;
    page.begin("headstack_power_losses_total", "counter", "Losses of power.");
    page.value("", "", counters.power_losses as f64);
    page.begin(
        "headstack_unwritten_sectors_total",
        "counter",
        "Sectors that were not on the medium when power was lost, by what became of them.",
    );
    page.value("", "fate=\"kept\"", counters.torn.kept as f64);
    page.value("", "fate=\"lost\"", counters.torn.lost as f64);
    let name = "headstack_lateness_seconds";
    page.begin(name, "histogram", "From the simulated end of a request to its reply.");
    page.histogram("", &counters.lateness_ns, &LATENESS_S, None);
    page.begin("headstack_late_replies_total", "counter", "Replies that were later than 1 ms.");
    page.value("", "", counters.late as f64);
    energy(&mut page, live);
    faults(&mut page, live);
    page.into_string()
}

fn operations(page: &mut Text, live: &Live) {
    let each = |write: &mut dyn FnMut(String, &Ops)| {
        for (i, device) in live.counters.devices.iter().enumerate() {
            for (op, ops) in device.ops() {
                write(format!("device=\"{i}\",op=\"{op}\""), ops);
            }
        }
    };
    page.begin("headstack_requests_total", "counter", "Requests that have ended.");
    each(&mut |labels, ops| page.value("", &labels, ops.requests as f64));
    page.begin("headstack_failed_requests_total", "counter", "Requests that have failed.");
    each(&mut |labels, ops| page.value("", &labels, ops.failed as f64));
    page.begin("headstack_bytes_total", "counter", "Bytes read and written.");
    each(&mut |labels, ops| page.value("", &labels, ops.bytes as f64));
    let name = "headstack_response_seconds";
    page.begin(name, "histogram", "Simulated response times.");
    each(&mut |labels, ops| {
        page.histogram(&labels, &ops.response_ns, &RESPONSE_S, Some(ops.time_ns));
    });
}

fn energy(page: &mut Text, live: &mut Live) {
    live.sample_now();
    let drives = live.n_drives();
    page.begin("headstack_power_watts", "gauge", "Mean power of a drive over the last 0.1 s.");
    for drive in 0..drives {
        let watts = live.energy.watts(&[drive], SAMPLE);
        page.value("", &format!("drive=\"{drive}\""), watts);
    }
    page.begin("headstack_energy_joules_total", "counter", "Energy of a drive.");
    for drive in 0..drives {
        let joules = live.energy.joules(&[drive]);
        page.value("", &format!("drive=\"{drive}\""), joules);
    }
}

fn faults(page: &mut Text, live: &mut Live) {
    let (now, system) = live.system();
    page.begin("headstack_parts_out_of_use", "gauge", "Heads and arms of a drive that failed.");
    for (drive, outcome) in system.tree.drives(now).iter().enumerate() {
        let n = outcome.faults.len() as f64;
        page.value("", &format!("drive=\"{drive}\""), n);
    }
    let layers = system.tree.results();
    page.begin("headstack_faults_total", "counter", "Requests that met a fault on purpose.");
    for layer in layers.iter().filter(|l| l.layer == "fault") {
        for (kind, n) in &layer.counts {
            page.value("", &format!("kind=\"{kind}\""), *n as f64);
        }
    }
}
