use headstack_block::organisation::*;
use headstack_drive::spec::Params;
use std::collections::HashMap;

fn params(json: &str) -> Params {
    serde_json::from_str(json).unwrap()
}

fn contexts() -> Vec<Context> {
    let mut list = Vec::new();
    for members in [vec![97], vec![64, 64, 64], vec![50, 33, 71, 20]] {
        for devices in [vec![], vec![30, 1, 17], vec![60, 60, 60, 60]] {
            list.push(Context { member_blocks: members.clone(), device_blocks: devices });
        }
    }
    list
}

/// Tests every entry in every context: the mapping is a bijection, in range, and agrees with its inverse. A
/// request of any length agrees with its blocks taken one at a time.
#[test]
fn every_block_has_exactly_one_place() {
    for entry in PLUGINS.iter() {
        let mut built = 0;
        for context in contexts() {
            let own = match entry.name() {
                "raid0" => params(r#"{"stripe_unit":"2560 B"}"#),
                _ => Params::new(),
            };
            let Ok(organisation) = entry.build(&own, &context) else {
                continue;
            };
            built += 1;
            let mut places = HashMap::new();
            let mut plan = Plan::default();
            for device in 0.. {
                let Ok(size) = organisation.device_blocks(device) else {
                    break;
                };
                for lba in 0..size {
                    plan.parts.clear();
                    organisation.plan(device, lba, 1, &mut plan);
                    assert_eq!(plan.parts.len(), 1, "{}", entry.name());
                    let part = plan.parts[0];
                    assert_eq!(part.blocks, 1);
                    if let Some((member, first)) = organisation.whole(device) {
                        assert_eq!((part.member, part.lba), (member, first + lba));
                    }
                    assert!(part.lba < context.member_blocks[part.member as usize]);
                    assert!(organisation.members_of(device).contains(&part.member));
                    let place = (part.member, part.lba);
                    assert_eq!(organisation.origin(place.0, place.1), Some((device, lba)));
                    assert_eq!(places.insert(place, (device, lba)), None, "{}", entry.name());
                }
                for (lba, blocks) in [(0, size), (size / 3, size / 2), (size / 2, 1)] {
                    if blocks == 0 || lba + blocks > size {
                        continue;
                    }
                    plan.parts.clear();
                    organisation.plan(device, lba, blocks as u32, &mut plan);
                    let mut got: Vec<_> = plan
                        .parts
                        .iter()
                        .flat_map(|p| (0..p.blocks as u64).map(|i| (p.member, p.lba + i)))
                        .map(|place| places[&place])
                        .collect();
                    got.sort();
                    let want: Vec<_> = (lba..lba + blocks).map(|b| (device, b)).collect();
                    assert_eq!(got, want, "{}", entry.name());
                }
            }
            for (member, &blocks) in context.member_blocks.iter().enumerate() {
                for lba in 0..blocks + 3 {
                    let place = (member as u32, lba);
                    assert_eq!(
                        organisation.origin(place.0, lba),
                        places.get(&place).copied(),
                        "{} {place:?}",
                        entry.name()
                    );
                }
            }
        }
        assert!(built >= 3, "{}", entry.name());
    }
}

/// By hand: devices of 10, 30 and 25 blocks over drives of 20, 40 and 3. The first lies on drive 0; the second begins
/// there and is divided; of the third, which begins at block 20 of drive 1, all but the last 2 blocks remain, and it is
/// divided. The fourth lies behind the end.
#[test]
fn a_device_on_one_drive_needs_no_plan() {
    let of = |device_blocks: Vec<u64>| {
        let context = Context { member_blocks: vec![20, 40, 3], device_blocks };
        concatenate().build(&Params::new(), &context).unwrap()
    };
    let all = of(vec![10, 30, 25, 7]);
    assert_eq!([0, 1, 2, 3].map(|d| all.whole(d)), [Some((0, 0)), None, None, None]);
    // Up to the last block of a drive, and one block more.
    assert_eq!(of(vec![15, 5, 40]).whole(1), Some((0, 15)));
    assert_eq!(of(vec![15, 5, 40]).whole(2), Some((1, 0)));
    assert_eq!(of(vec![15, 6]).whole(1), None);
    assert_eq!(of(vec![15]).whole(1), None);
}

#[test]
fn unknown_devices_and_names_are_named() {
    let context = Context { member_blocks: vec![10, 10], ..Context::default() };
    let organisation = PLUGINS.get("independent").unwrap().build(&Params::new(), &context).unwrap();
    let error = organisation.device_blocks(2).unwrap_err();
    assert!(error.contains("device 2") && error.contains("2 drives"), "{error}");
    let error = PLUGINS.find("organisation", "raid-0").err().unwrap().to_string();
    assert!(error.contains("did you mean \"raid0\"?"), "{error}");
}

#[test]
fn raid0_by_the_book() {
    // Patterson, Gibson & Katz 1988, fig. 5: units are placed on the disks in turn.
    let context = Context { member_blocks: vec![100; 4], device_blocks: vec![] };
    let own = params(r#"{"stripe_unit":"4 KiB"}"#);
    let organisation = PLUGINS.get("raid0").unwrap().build(&own, &context).unwrap();
    let mut plan = Plan::default();
    organisation.plan(0, 8 * 5 + 3, 10, &mut plan);
    let want = [Part { member: 1, lba: 11, blocks: 5 }, Part { member: 2, lba: 8, blocks: 5 }];
    assert_eq!(plan.parts, want);
    // One stripe and a half: one contiguous part per member.
    plan.parts.clear();
    organisation.plan(0, 0, 48, &mut plan);
    assert_eq!(plan.parts.len(), 4);
    assert_eq!(plan.parts[0], Part { member: 0, lba: 0, blocks: 16 });
    assert_eq!(plan.parts[3], Part { member: 3, lba: 0, blocks: 8 });
}
