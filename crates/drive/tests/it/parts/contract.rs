//! What every folder of models fulfils.

use headstack_drive::mapping::{cleaning, policy};
use headstack_drive::{cost, layout, power, scheduler, seek};
use headstack_schema::{ModelKind, Params, Plugin, Plugins, SpecError};
use headstack_testkit::plugins::folder_matches;

/// The example of a plug-in, as a parameter table.
pub fn example<T: ?Sized + ModelKind>(plugin: &Plugin<T>) -> Params {
    toml::from_str(plugin.example()).unwrap_or_else(|e| panic!("example of {}: {e}", plugin.name()))
}

/// The folder's files, but for the `shared` ones, and its list name the same plug-ins, and each file has the sections
/// Model, Source and Validity.
fn matches_list<T: ?Sized + ModelKind>(folder: &str, shared: &[&str], plugins: &Plugins<T>) {
    let names: Vec<&str> = plugins.names().collect();
    folder_matches(env!("CARGO_MANIFEST_DIR"), &format!("src/{folder}"), &[&["mod"], shared].concat(), &names);
}

#[test]
fn files_and_lists_agree() {
    matches_list("seek", &[], &seek::PLUGINS);
    matches_list("layout", &["shape", "zoned"], &layout::PLUGINS);
    matches_list("scheduler", &["bounds", "search", "urgency"], &scheduler::PLUGINS);
    matches_list("power", &[], &power::PLUGINS);
    matches_list("cost", &[], &cost::PLUGINS);
    matches_list("mapping/policy", &[], &policy::PLUGINS);
    matches_list("mapping/cleaning", &["parameters"], &cleaning::PLUGINS);
}

#[test]
fn unknown_keys_are_refused() {
    refuses_unknown_keys(&seek::PLUGINS);
    refuses_unknown_keys(&scheduler::PLUGINS);
    refuses_unknown_keys(&power::PLUGINS);
    refuses_unknown_keys(&cost::PLUGINS);
    refuses_unknown_keys(&policy::PLUGINS);
    refuses_unknown_keys(&cleaning::PLUGINS);
}

/// The example builds, also with all parameters that it leaves out; an unknown key is refused by name. Each
/// parameter is described.
fn refuses_unknown_keys<T: ?Sized + ModelKind<Error = SpecError> + for<'a> ModelKind<For<'a> = ()>>(
    plugins: &Plugins<T>,
) {
    for plugin in plugins.iter() {
        let mut table = example(plugin);
        if let Err(e) = plugin.build(&table, ()) {
            panic!("example of {}: {e}", plugin.name());
        }
        for field in plugin.parameters().fields {
            let at = format!("{}: {}", plugin.name(), field.key);
            assert!(field.doc.ends_with('.'), "{at} has no sentence");
        }
        // What the table leaves out can be said, and then nothing is left out.
        let whole = plugins.filled(plugin.name(), &table);
        if let Err(e) = plugin.build(&whole, ()) {
            panic!("all parameters of {}: {e}", plugin.name());
        }
        let again = plugins.filled(plugin.name(), &whole);
        assert_eq!(again, whole, "{}", plugin.name());
        table.insert("no_such_key".into(), 1.into());
        let error = plugin.build(&table, ());
        let error = error.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("no_such_key"), "{}: {error:?}", plugin.name());
    }
}
