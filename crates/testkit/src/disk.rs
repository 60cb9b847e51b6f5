//! Small drives of one zone, whose times can be computed by hand.

use headstack_drive::DriveSpec;

/// The description of a drive of one zone.
#[derive(Debug, Clone, Copy)]
pub struct Disk {
    /// Turns per minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub surfaces: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Sectors per track.
    pub sectors: u32,
    /// Unit of the skews, track skew and cylinder skew.
    pub skew: Option<(&'static str, f64, f64)>,
}

impl Disk {
    /// The description as TOML, followed by the lines in `more`.
    pub fn text(&self, more: &str) -> String {
        let Disk { rpm, surfaces, cylinders, sectors, skew } = self;
        let last = cylinders - 1;
        let (unit, skews) = match skew {
            Some((unit, track, cylinder)) => {
                (format!("skew_unit = {unit:?}"), format!(", track_skew = {track:?}, cylinder_skew = {cylinder:?}"))
            }
            None => Default::default(),
        };
        format!(
            "name = \"small\"\n[geometry]\nrotation_speed = \"{rpm} rpm\"\nsurfaces = {surfaces}\n\
             cylinders = {cylinders}\n{unit}\nzones = [{{ first_cylinder = 0, last_cylinder = {last}, \
             sectors_per_track = {sectors}{skews} }}]\n{more}"
        )
    }

    /// The description, parsed.
    pub fn drive(&self, more: &str) -> DriveSpec {
        let text = self.text(more);
        toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// A small disk of three surfaces whose tracks hold no whole number of blocks, with this `dash` line, which may be
/// empty, and these tables.
pub fn uneven(dash: &str, tables: &str) -> DriveSpec {
    let disk = Disk { rpm: 7200, surfaces: 3, cylinders: 60, sectors: 61, skew: Some(("sectors", 5.0, 11.0)) };
    let seek = "[seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"8 ms\"\ncylinders = 60\n\
                [positioning]\nhead_switch = \"0.5 ms\"\nwrite_settle = \"0.2 ms\"\n";
    let text = format!("{dash}\n{}", disk.text(&format!("{seek}{tables}")));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}
