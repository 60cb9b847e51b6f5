//! What every folder of models fulfils.

use headstack_drive::plugin::{ModelKind, Plugin, Plugins};
use headstack_schema::Params;
use headstack_testkit::plugins::folder_matches;

/// The example of a plug-in, as a parameter table.
pub fn example<T: ?Sized + ModelKind>(plugin: &Plugin<T>) -> Params {
    toml::from_str(plugin.example()).unwrap_or_else(|e| panic!("example of {}: {e}", plugin.name()))
}

/// The folder's files and its list name the same plug-ins, and each file has the sections Model, Source
/// and Validity.
pub fn folder_matches_list<T: ?Sized + ModelKind>(folder: &str, plugins: &Plugins<T>) {
    folder_matches_list_but(folder, &[], plugins);
}

/// As [`folder_matches_list`]; the files `shared` are code that several plug-ins use.
pub fn folder_matches_list_but<T: ?Sized + ModelKind>(folder: &str, shared: &[&str], plugins: &Plugins<T>) {
    let mut others = vec!["mod"];
    others.extend(shared);
    let names: Vec<&str> = plugins.names().collect();
    let folder = format!("src/{folder}");
    folder_matches(env!("CARGO_MANIFEST_DIR"), &folder, &others, &names);
}

/// The example builds, also with all parameters that it leaves out; an unknown key is refused by name. Each
/// parameter is described.
pub fn refuses_unknown_keys<T: ?Sized + ModelKind<For = ()>>(plugins: &Plugins<T>) {
    use headstack_schema::Registered;
    for plugin in plugins.iter() {
        let mut table = example(plugin);
        if let Err(e) = plugin.build(&table, &()) {
            panic!("example of {}: {e}", plugin.name());
        }
        for field in plugin.parameters().fields {
            let at = format!("{}: {}", plugin.name(), field.key);
            assert!(field.doc.ends_with('.'), "{at} has no sentence");
        }
        // What the table leaves out can be said, and then nothing is left out.
        let whole = headstack_drive::plugin::filled(plugins, plugin.name(), &table);
        if let Err(e) = plugin.build(&whole, &()) {
            panic!("all parameters of {}: {e}", plugin.name());
        }
        let again = headstack_drive::plugin::filled(plugins, plugin.name(), &whole);
        assert_eq!(again, whole, "{}", plugin.name());
        table.insert("no_such_key".into(), 1.into());
        let error = plugin.build(&table, &());
        let error = error.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("no_such_key"), "{}: {error:?}", plugin.name());
    }
}
