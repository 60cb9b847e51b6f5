use headstack_block::layer::volume::choice::*;
use headstack_block::layer::volume::state::State;
use headstack_schema::Choice;

/// By hand: three members with heads at 100, 500 and 900, and 2, 0 and 1 pending requests.
#[test]
fn policies_choose_as_they_say() {
    let mut state = State::new(3);
    for (m, (head, pending)) in [(100, 2), (500, 0), (900, 1)].into_iter().enumerate() {
        (state.members[m].head, state.members[m].pending) = (head, pending);
    }
    // The last read of member 2 has not ended yet.
    state.members[2].next = 300;
    let copies = |lba: [u64; 3]| [0, 1, 2].map(|m| Copy { member: m, lba: lba[m as usize] });
    let mut turn = 0;
    let mut choose = |name: &str, copies: &[Copy]| {
        let policy = ReadPolicy::WORDS.iter().find(|w| w.0 == name);
        policy.expect("a policy").2.choose(copies, &state, &mut turn)
    };
    let at = |lba| copies([lba; 3]);
    assert_eq!(choose("first", &at(890)), 0);
    assert_eq!([0; 4].map(|_| choose("round-robin", &at(0))), [0, 1, 2, 0]);
    assert_eq!(choose("nearest", &at(290)), 0);
    assert_eq!(choose("nearest", &at(700)), 1, "a tie goes to the first");
    assert_eq!(choose("nearest", &at(701)), 2);
    assert_eq!(choose("fewest-pending", &at(100)), 1);
    assert_eq!(choose("md-raid1", &at(100)), 0, "reads on");
    assert_eq!(choose("md-raid1", &at(300)), 2, "continues the last read");
    assert_eq!(choose("md-raid1", &at(101)), 1, "has nothing to do");
    assert_eq!(choose("md-raid10-near", &at(100)), 1);
    let busy = [copies([1, 1, 880])[0], copies([1, 1, 880])[2]];
    assert_eq!(choose("md-raid1", &busy), 1, "all busy: the nearest");
    assert_eq!(choose("md-raid10-far", &copies([30, 40, 20])), 2);
}
