use crate::parts::contract::{folder_matches_list, refuses_unknown_keys};
use headstack_drive::mapping::policy::PLUGINS;

#[test]
fn files_and_list_agree() {
    folder_matches_list("mapping/policy", &PLUGINS);
}

#[test]
fn policies_refuse_unknown_keys() {
    refuses_unknown_keys(&PLUGINS);
}
