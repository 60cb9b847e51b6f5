use headstack_target::clients::ALL_WRITTEN;
use headstack_target::iscsi::room::*;
use headstack_target::iscsi::shelf::Owner;

#[test]
fn each_session_has_its_share_and_one_write_the_rest() {
    for sessions in [1, 3, 100, 512] {
        let mut room = Room::default();
        room.sessions = sessions;
        let mut held = vec![0; sessions];
        for own in &mut held {
            while room.take(own, 256 << 10) > 0 {}
        }
        let share = ALL_WRITTEN / sessions;
        assert!(held.iter().all(|own| (share - LEAST_BURST..=share).contains(own)));
        assert_eq!(room.bytes(), held.iter().sum::<usize>());
        let [one, other] = [1, 2].map(|itt| Owner { session: 7, itt });
        assert!(room.take_whole(one) && room.take_whole(one) && !room.take_whole(other));
        assert!(room.bytes() <= MOST_BUFFERED);
        held.iter_mut().for_each(|own| room.free(one, own, *own));
        assert!(room.bytes() == 0 && room.take_whole(other));
    }
}
