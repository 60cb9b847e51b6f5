//! Prints the JSON Schema of drive files, for editors: `cargo run --example drive_schema > drive.schema.json`.

use headstack_drive::Models;

fn main() {
    println!("{:#}", Models::builtin().drive_schema());
}
