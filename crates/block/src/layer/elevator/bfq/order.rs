//! The order of queues by their shares of the service.
//!
//! # Model
//! Worst-case fair weighted fair queueing. Virtual time passes by `n / W` when `n` sectors are served, where `W` is the sum
//! of the weights of all queues that have a share. A queue starts its turn at a virtual time, and would finish it, with its
//! whole budget, `budget / weight` later. Of the queues that have started, the one that would finish first is next. If none
//! has started, virtual time goes to the first start. A turn that ends counts with the service that the queue got: that is
//! where it finished, and where its next turn starts.
//!
//! A queue without requests keeps its share until virtual time reaches its finish.
//! # Source
//! Bennett and Zhang, "Hierarchical packet fair queueing algorithms", IEEE/ACM Transactions on Networking 5(5), 1997
//! (WF2Q+); Valente and Checconi, "High throughput disk scheduling with fair bandwidth distribution", IEEE Transactions on
//! Computers 59(9), 2010 (budgets).

use std::collections::BTreeSet;

/// Virtual time: sectors per unit of weight, in units of 2^-32.
type Virtual = u128;

fn passed(sectors: u64, weight: u64) -> Virtual {
    (Virtual::from(sectors) << 32) / Virtual::from(weight.max(1))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has no share.
    Out,
    /// It waits for its turn.
    Waiting,
    /// It has its turn.
    InService,
    /// It has no requests, but still its share.
    Idle,
}

/// The share of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    start: Virtual,
    finish: Virtual,
    /// Sectors that it may be served in a turn.
    pub budget: u64,
    /// Sectors that it was served in this turn.
    pub service: u64,
    pub weight: u64,
    place: Place,
    /// Decides between equal times.
    number: u64,
}

impl Share {
    /// Sectors of the budget that are left.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.service)
    }
}

/// The queues in order.
#[derive(Debug, Default)]
pub struct Order {
    now: Virtual,
    weights: u64,
    shares: Vec<Share>,
    /// Waiting queues that have started, by finish.
    started: BTreeSet<(Virtual, u64, u32)>,
    /// Waiting queues that have not started, by start.
    later: BTreeSet<(Virtual, u64, u32)>,
    /// Idle queues by finish.
    idle: BTreeSet<(Virtual, u32)>,
    numbers: u64,
}

impl Order {
    /// Adds a queue without a share.
    pub fn add(&mut self, weight: u64) {
        self.shares.push(Share { start: 0, finish: 0, budget: 0, service: 0, weight, place: Place::Out, number: 0 });
    }

    pub fn share(&self, queue: u32) -> &Share {
        &self.shares[queue as usize]
    }

    pub fn share_mut(&mut self, queue: u32) -> &mut Share {
        &mut self.shares[queue as usize]
    }

    /// Whether a queue waits for its turn.
    pub fn is_waiting(&self, queue: u32) -> bool {
        self.share(queue).place == Place::Waiting
    }

    /// The waiting queues, roughly in order.
    pub fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        self.started.iter().chain(&self.later).map(|k| k.2)
    }

    /// A queue has another weight; one that waits is sorted anew with its next budget.
    pub fn set_weight(&mut self, queue: u32, weight: u64) {
        let share = &mut self.shares[queue as usize];
        if share.place != Place::Out {
            self.weights = self.weights - share.weight + weight;
        }
        share.weight = weight;
    }

    /// A queue that had no requests waits for its turn. `resumes`: it is not to lose what was left of its last turn, so it
    /// starts where that turn finished; if it is late even so, it is moved on until it would finish now, by a part of the
    /// delay if it is raised (`raise` times).
    pub fn activate(&mut self, queue: u32, resumes: bool, raise: u64) {
        let now = self.now;
        let share = &mut self.shares[queue as usize];
        let is_late = resumes && now > share.finish;
        let least = if is_late { share.finish } else { now };
        match share.place {
            Place::Idle => {
                self.idle.remove(&(share.finish, queue));
                share.start = least.max(share.finish);
            }
            _ => {
                self.weights += share.weight;
                share.start = least;
            }
        }
        if is_late {
            let finish = share.start + passed(share.budget, share.weight);
            share.start += now.saturating_sub(finish) / Virtual::from(raise.max(1));
        }
        self.insert(queue);
    }

    fn insert(&mut self, queue: u32) {
        self.numbers += 1;
        let share = &mut self.shares[queue as usize];
        share.number = self.numbers;
        share.finish = share.start + passed(share.budget, share.weight);
        share.place = Place::Waiting;
        match share.start <= self.now {
            true => self.started.insert((share.finish, share.number, queue)),
            false => self.later.insert((share.start, share.number, queue)),
        };
    }

    fn extract(&mut self, queue: u32) {
        let share = &self.shares[queue as usize];
        self.started.remove(&(share.finish, share.number, queue));
        self.later.remove(&(share.start, share.number, queue));
    }

    /// A waiting queue has another budget.
    pub fn set_budget(&mut self, queue: u32, budget: u64) {
        if self.is_waiting(queue) {
            self.extract(queue);
            self.share_mut(queue).budget = budget;
            self.insert(queue);
        }
    }

    /// The queue that has its turn next, which begins.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<u32> {
        self.begin_until_now();
        if self.started.is_empty() {
            self.now = self.later.first()?.0;
            self.begin_until_now();
        }
        let (_, _, queue) = self.started.pop_first()?;
        self.share_mut(queue).place = Place::InService;
        self.forget();
        Some(queue)
    }

    /// Waiting queues start whose time has come.
    fn begin_until_now(&mut self) {
        while let Some(first) = self.later.first().filter(|k| k.0 <= self.now).copied() {
            self.later.pop_first();
            let share = &self.shares[first.2 as usize];
            self.started.insert((share.finish, share.number, first.2));
        }
    }

    /// Idle queues lose their shares whose finish has come.
    fn forget(&mut self) {
        while let Some((_, queue)) = self.idle.first().filter(|k| k.0 <= self.now).copied() {
            self.idle.pop_first();
            let share = &mut self.shares[queue as usize];
            share.place = Place::Out;
            self.weights -= share.weight;
        }
    }

    /// A queue was served so many sectors.
    pub fn serve(&mut self, queue: u32, sectors: u64) {
        self.share_mut(queue).service += sectors;
        self.now += passed(sectors, self.weights);
        self.forget();
    }

    /// The turn of a queue is over, and it waits for the next one with this budget.
    pub fn end_turn(&mut self, queue: u32, budget: u64) {
        let share = self.share_mut(queue);
        share.start += passed(share.service, share.weight);
        (share.budget, share.service) = (budget, 0);
        self.insert(queue);
    }

    /// A queue has no more requests.
    pub fn deactivate(&mut self, queue: u32) {
        if self.is_waiting(queue) {
            self.extract(queue);
        }
        let now = self.now;
        let share = self.share_mut(queue);
        if share.place == Place::InService {
            share.finish = share.start + passed(share.service, share.weight);
        }
        let (finish, weight) = (share.finish, share.weight);
        if finish > now {
            share.place = Place::Idle;
            self.idle.insert((finish, queue));
        } else {
            share.place = Place::Out;
            self.weights -= weight;
        }
    }
}
