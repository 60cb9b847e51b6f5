use headstack_target::clients::*;
use headstack_target::socket::Socket;
use std::io;
use std::io::Read;

struct Nobody;

impl Connection for Nobody {
    fn is_new(&self) -> bool {
        false
    }
    fn room(&self) -> usize {
        0
    }
    fn untaken(&self) -> usize {
        0
    }
    fn receive(&mut self, _: &mut impl Read, _: &mut [u8]) -> io::Result<bool> {
        Ok(false)
    }
    fn has_more(&self) -> bool {
        false
    }
    fn release(&mut self) {}
    fn is_over(&self) -> bool {
        false
    }
    fn is_idle(&self) -> bool {
        true
    }
    fn refuse(&mut self) {}
}

/// So many clients do so much in each of their turns. Returns how many have a turn in each of the first passes.
fn turns(number: u64, work: usize) -> Vec<usize> {
    let mut clients = Clients::new(Vec::new());
    for key in 0..number {
        let socket = Socket::Unix(std::os::unix::net::UnixStream::pair().unwrap().0);
        let client = Client::new(key, socket, Nobody);
        clients.clients.insert(key, client);
        clients.wake(key);
    }
    let (mut had, mut passes) = (vec![0; number as usize], Vec::new());
    for _ in 0..200 {
        clients.begin_pass();
        let mut keys = Vec::new();
        while let Some(mut client) = clients.next_turn() {
            assert!(!client.work.is_over());
            client.work.did(work);
            keys.push(client.key);
            clients.put_back(client);
        }
        for key in &keys {
            had[*key as usize] += 1;
            clients.wake(*key);
        }
        passes.push(keys.len());
    }
    assert!(had.iter().max().unwrap() - had.iter().min().unwrap() <= 1, "got {had:?}");
    passes
}

#[test]
fn a_pass_has_a_bound_and_all_have_turns() {
    for (number, work, most) in
        [(100, 1, 100), (1000, 1, 128), (4, WORK_BYTES, 4), (300, WORK_BYTES, 4), (300, PASS_BYTES, 1)]
    {
        let passes = turns(number, work);
        assert!(passes.iter().all(|n| *n == most), "{number} clients with work of {work}: got {passes:?}");
    }
}
