//! Small drives of one zone, whose every nanosecond can be worked out.

use headstack_drive::DriveSpec;

/// A drive of one zone, before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Disk {
    /// Turns per minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub surfaces: u32,
    /// Cylinders.
    pub cylinders: u32,
    /// Sectors of each track.
    pub sectors: u32,
    /// Unit and lengths of the skews of tracks and cylinders.
    pub skew: Option<(&'static str, f64, f64)>,
}

impl Disk {
    /// Its description as TOML, with `more` after its geometry.
    pub fn text(&self, more: &str) -> String {
        let Disk {
            rpm,
            surfaces,
            cylinders,
            sectors,
            skew,
        } = self;
        let last = cylinders - 1;
        let (unit, skews) = match skew {
            Some((unit, track, cylinder)) => (
                format!("skew_unit = {unit:?}"),
                format!(", track_skew = {track:?}, cylinder_skew = {cylinder:?}"),
            ),
            None => Default::default(),
        };
        format!(
            "name = \"small\"\n[geometry]\nrotation_speed = \"{rpm} rpm\"\nsurfaces = {surfaces}\n\
             cylinders = {cylinders}\n{unit}\nzones = [{{ first_cylinder = 0, last_cylinder = {last}, \
             sectors_per_track = {sectors}{skews} }}]\n{more}"
        )
    }

    /// It as a drive.
    pub fn drive(&self, more: &str) -> DriveSpec {
        let text = self.text(more);
        toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}
