//! What a declaration becomes: reading, defaults, errors, documentation.

use headstack_schema::{
    json_schema, read, read_beside, wrong_kind, Adapter, Choice, Kind, OneOf, Params, SpecError, Table, Usual,
};
use headstack_schema::{Parameter, TableSchema};
use headstack_units::Span;
use serde_json::{json, Value};

/// Order of service.
#[derive(Debug, Clone, Copy, PartialEq, Default, Choice)]
enum Order {
    /// As they come.
    #[default]
    FirstCome,
    /// The nearest.
    #[choice("sstf")]
    Nearest,
}

/// Times as numbers of milliseconds in the program.
struct Milliseconds;

impl Adapter<f64> for Milliseconds {
    fn kind() -> Kind {
        Span::kind()
    }
    fn read(value: &Value) -> Result<f64, SpecError> {
        Span::read(value).map(|span| span.0 as f64 / 1e6)
    }
    fn write(value: &f64) -> Value {
        Span((value * 1e6) as i64).write()
    }
}

/// Inside. A second sentence.
///
/// Not part of the summary.
#[derive(Debug, Clone, PartialEq, Default, Table)]
#[table(default)]
struct Inner {
    /// A share.
    #[param(range = 0.0..=1.0)]
    share: f64,
    /// Whether.
    on: bool,
}

#[derive(Debug, PartialEq, Table)]
#[table(check = Whole::check)]
struct Whole {
    /// How many.
    #[param(range = 1..=8)]
    count: u32,
    /// Some times.
    #[param(default, range = Span(0)..=Span(1_000_000_000))]
    times: Vec<Span>,
    /// A limit.
    #[param(range = 1..=4)]
    limit: Option<u64>,
    #[param(default)]
    order: Order,
    #[param(default = 2.5, with = Milliseconds)]
    base: f64,
    #[param(alias = "inners", default)]
    inner: Inner,
    #[param(default, omit = String::is_empty)]
    title: String,
    #[param(skip)]
    seen: u32,
}

impl Whole {
    fn check(&self) -> Result<(), SpecError> {
        match self.limit {
            Some(limit) if limit < u64::from(self.count) => Err(SpecError::new("limit", limit, "count or more")),
            _ => Ok(()),
        }
    }
}

/// One of two tables.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(tag = "shape")]
enum Shape<T: Parameter + Clone> {
    /// Round.
    Circle {
        /// Across half of it.
        #[param(default = 3)]
        radius: u32,
        /// Where.
        at: T,
    },
    /// With corners.
    EvenSquare { side: T },
}

/// With the keys of another table among its own.
#[derive(Debug, PartialEq, Table)]
#[table(before = Around::no_shadow)]
struct Around {
    #[param(kind = Kind::Name("colour"))]
    colour: Option<String>,
    #[param(flatten)]
    inner: Inner,
}

impl Around {
    fn no_shadow(table: &Params) -> Result<(), SpecError> {
        match table.contains_key("shadow") {
            true => Err(SpecError::new("shadow", "a shadow", "light")),
            false => Ok(()),
        }
    }
}

#[derive(Debug, PartialEq, Table)]
struct Open {
    model: String,
    #[param(rest = "parameters of the model")]
    parameters: Params,
}

fn error(value: Value) -> String {
    read::<Whole>(&value).unwrap_err().to_string()
}

#[test]
fn what_is_left_out_is_filled_in() {
    let whole: Whole = read(&json!({ "count": 3 })).unwrap();
    let want = json!({
        "count": 3, "times": [], "order": "first-come", "base": "2.5 ms",
        "inner": { "share": 0.0, "on": false },
    });
    assert_eq!(whole.write(), want);
    assert_eq!(read::<Whole>(&want).unwrap(), whole, "what is written is read again");
    let by_serde: Whole = serde_json::from_value(want.clone()).unwrap();
    assert_eq!(serde_json::to_value(by_serde).unwrap(), want);
    let alias = read::<Whole>(&json!({ "count": 3, "inners": { "on": true } })).unwrap();
    assert!(alias.inner.on);
}

#[test]
fn errors_have_key_value_and_need() {
    for (value, want) in [
        (json!({}), "count: got nothing, need a value"),
        (json!({ "count": 9 }), "count: got 9, need 1 to 8"),
        (json!({ "count": "9" }), "count: got string \"9\", need a whole number, 0 or more"),
        (json!({ "count": -1 }), "count: got integer -1, need a whole number, 0 or more"),
        (
            json!({ "count": 5_000_000_000_u64 }),
            "count: got integer 5000000000, need a whole number, 0 or more, at most 4294967295",
        ),
        (json!({ "count": 1, "limit": 5 }), "limit: got 5, need 1 to 4"),
        (json!({ "count": 4, "limit": 3 }), "limit: got 3, need count or more"),
        (json!({ "count": 1, "times": ["1 s", "2 s"] }), "times[1]: got 2 s, need 0 ms to 1 s"),
        (
            json!({ "count": 1, "times": ["1 parsec"] }),
            "times[0]: got \"1 parsec\", need a number and a unit: one of s, ms, us, ns, min, h",
        ),
        (json!({ "count": 1, "inner": { "share": 2 } }), "inner.share: got 2, need 0 to 1"),
        (json!({ "count": 1, "inner": 3 }), "inner: got integer 3, need a table"),
        (json!({ "count": 1, "inner": { "no": 3 } }), "inner: got key \"no\", need one of share, on"),
        (
            json!({ "count": 1, "order": "sttf" }),
            "order: got \"sttf\", need one of first-come, sstf; did you mean \"sstf\"?",
        ),
        (json!({ "count": 1, "order": 1 }), "order: got integer 1, need one of first-come, sstf"),
        (
            json!({ "count": 1, "seen": 1 }),
            "got key \"seen\", need one of count, times, limit, order, \
            base, inner, inners, title",
        ),
        (
            json!({ "count": 1, "inner": {}, "inners": {} }),
            "inners: got the same again, need inner or inners, not both",
        ),
        (json!([1]), "got a list, need a table"),
    ] {
        let shown = error(value.clone());
        assert!(shown.starts_with(want), "{value}: {shown}");
    }
    let table = json!({ "model": "x", "share": 0.5, "onn": true });
    let beside = read_beside::<Inner>(&["model"], table.as_object().unwrap());
    let want = "got key \"onn\", need one of model, share, on; did you mean \"on\"?";
    assert_eq!(beside.unwrap_err().to_string(), want);
    let _: SpecError = wrong_kind(&table, "a list");
}

#[test]
fn other_keys_are_kept() {
    let value = json!({ "model": "x", "a": 1, "b": { "c": 2 } });
    let open: Open = read(&value).unwrap();
    assert_eq!(Value::Object(open.parameters.clone()), json!({ "a": 1, "b": { "c": 2 } }));
    assert_eq!(open.write(), value);
}

#[test]
fn a_word_says_which_table_is_meant() {
    let read = |value: Value| read::<Shape<f64>>(&value).map_err(|e| e.to_string());
    let circle = read(json!({ "shape": "circle", "at": 2.5 })).unwrap();
    assert_eq!(circle, Shape::Circle { radius: 3, at: 2.5 });
    let want = json!({ "shape": "circle", "radius": 3, "at": 2.5 });
    assert_eq!(circle.write(), want);
    assert!(read(json!({ "shape": "even-square", "side": 1 })).is_ok());
    for (value, want) in [
        (json!({ "at": 1 }), "shape: got nothing, need one of circle, even-square"),
        (json!({ "shap": "circle" }), "got key \"shap\", need one of shape; did you mean \"shape\"?"),
        (
            json!({ "shape": "circel" }),
            "shape: got \"circel\", need one of circle, even-square; did you mean \"circle\"?",
        ),
        (json!({ "shape": "circle", "side": 2 }), "got key \"side\", need one of shape, radius, at"),
        (json!({ "shape": "circle" }), "at: got nothing, need a value"),
        (json!(3), "got integer 3, need a table"),
    ] {
        assert_eq!(read(value).unwrap_err(), want);
    }
    let Kind::OneOf(tables) = Shape::<f64>::kind() else {
        panic!("one of several");
    };
    let Kind::Table(circle) = &tables[0] else {
        panic!("a table");
    };
    assert_eq!(circle.doc, "Round.");
    let keys: Vec<_> = circle.fields.iter().map(|f| f.key).collect();
    assert_eq!(keys, ["shape", "radius", "at"]);
}

#[test]
fn keys_of_another_table_stand_among_the_own() {
    let value = json!({ "colour": "red", "share": 0.5, "on": true });
    let around: Around = read(&value).unwrap();
    assert_eq!(around.inner, Inner { share: 0.5, on: true });
    assert_eq!(around.write(), value);
    let error = |value| read::<Around>(&value).unwrap_err().to_string();
    assert_eq!(
        error(json!({ "shere": 1 })),
        "got key \"shere\", need one of colour, share, on; did you mean \"share\"?"
    );
    assert_eq!(error(json!({ "share": 2 })), "share: got 2, need 0 to 1");
    assert_eq!(error(json!({ "shadow": 2 })), "shadow: got a shadow, need light");
    let fields = Around::fields();
    assert_eq!(fields[0].kind, Kind::Name("colour"));
    assert_eq!(fields[1].key, "share");
}

#[test]
fn parameters_are_documented() {
    let fields = Whole::fields();
    let of = |key: &str| fields.iter().find(|f| f.key == key).unwrap();
    assert_eq!(of("count").doc, "How many.");
    assert_eq!(of("count").usual, Usual::Required);
    assert_eq!(of("count").bounds.as_ref().unwrap().shown, "1 to 8");
    assert_eq!(of("limit").usual, Usual::Nothing);
    assert_eq!(of("base").usual, Usual::Value("2.5 ms".into()));
    assert_eq!(of("times").bounds.as_ref().unwrap().most, json!("1 s"));
    let Kind::Table(TableSchema { doc, .. }) = &of("inner").kind else {
        panic!("{:?}", of("inner").kind);
    };
    assert_eq!(doc, &"Inside. A second sentence.");
    assert!(fields.iter().all(|f| f.key != "seen"));
}

#[test]
fn the_json_schema_says_the_same() {
    let schema = json_schema::document(&Whole::schema(), "whole", &|_| Vec::new());
    assert_eq!(schema["required"], json!(["count"]));
    let properties = &schema["properties"];
    assert_eq!(properties["count"]["minimum"], 1);
    assert_eq!(properties["count"]["maximum"], 8);
    assert_eq!(properties["times"]["items"]["x-maximum"], "1 s");
    assert_eq!(properties["order"]["enum"], json!(["first-come", "sstf"]));
    assert_eq!(properties["inner"]["properties"]["share"]["default"], 0.0);
    assert_eq!(properties["inners"], properties["inner"]);
    assert_eq!(schema["additionalProperties"], false);
    let open = json_schema::document(&Open::schema(), "open", &|_| Vec::new());
    assert_eq!(open["additionalProperties"], true);
}

/// What was made and not read is held to the same bounds, at any depth.
#[test]
fn made_values_are_checked() {
    let whole: Whole = read(&json!({ "count": 3 })).unwrap();
    assert_eq!(whole.check(), Ok(()));
    let at = |change: &dyn Fn(&mut Whole)| {
        let mut whole: Whole = read(&json!({ "count": 3 })).unwrap();
        change(&mut whole);
        Parameter::check(&whole).unwrap_err().key
    };
    assert_eq!(at(&|w| w.count = 9), "count");
    assert_eq!(at(&|w| w.times = vec![Span(0), Span(-1)]), "times[1]");
    assert_eq!(at(&|w| w.limit = Some(2)), "limit");
    assert_eq!(at(&|w| w.inner.share = 2.0), "inner.share");
}

/// The parameters of the job stand beside its name, or in a table of their own.
#[derive(Debug, PartialEq, Table)]
#[allow(dead_code)]
struct Named {
    #[param(default = "slow".into(), kind = Kind::Name("job"))]
    job: String,
    #[param(default, kind = Kind::Parameters("job"))]
    job_parameters: Params,
    #[param(default, kind = Kind::Model("job"), omit = Params::is_empty)]
    other: Params,
    #[param(kind = Kind::Keyed { of: "job", key: "kind" })]
    third: Option<Params>,
}

#[derive(Debug, PartialEq, Table)]
struct Beside {
    #[param(kind = Kind::Name("job"))]
    job: String,
    #[param(rest = "parameters of the job")]
    parameters: Params,
}

#[test]
fn a_name_decides_which_parameters_there_are() {
    let jobs = |kind: &str| match kind {
        "job" => vec![("slow".to_string(), TableSchema::default()), ("quick".to_string(), Inner::schema())],
        _ => Vec::new(),
    };
    let schema = json_schema::document(&Named::schema(), "named", &jobs);
    assert_eq!(schema["properties"]["job"]["enum"], json!(["slow", "quick"]));
    // The default holds where nothing is named.
    let [slow, quick] = [&schema["allOf"][0], &schema["allOf"][1]];
    assert_eq!(slow["if"].get("required"), None);
    assert_eq!(quick["if"]["required"], json!(["job"]));
    let own = &quick["then"]["properties"]["job_parameters"];
    assert_eq!(own["properties"]["share"]["maximum"], 1.0);
    assert_eq!(own["additionalProperties"], false);
    let third = &schema["properties"]["third"];
    assert_eq!(third["properties"]["kind"]["enum"][1], "quick");
    let then = &third["allOf"][1]["then"];
    assert_eq!(then["properties"]["kind"], true);
    assert_eq!(then["additionalProperties"], false);

    let schema = json_schema::document(&Beside::schema(), "beside", &jobs);
    assert_eq!(schema["additionalProperties"], true);
    let then = &schema["allOf"][1]["then"];
    assert_eq!(then["properties"]["job"], true);
    assert_eq!(then["properties"]["share"]["maximum"], 1.0);
    assert_eq!(then["additionalProperties"], false);
}

/// Every key has a default: its own, or its type's.
#[derive(Debug, PartialEq, Table)]
#[table(defaults)]
struct Defaults {
    #[param(default = 7, range = 1..=9)]
    count: u32,
    is_on: bool,
    limit: Option<u32>,
    pair: (u32, Span),
}

#[test]
fn defaults_are_declared_with_their_fields() {
    let made = Defaults::default();
    assert_eq!((made.count, made.is_on, made.limit), (7, false, None));
    assert_eq!(read::<Defaults>(&json!({})), Ok(made));
    let count = &Defaults::fields()[0];
    assert_eq!(count.usual, Usual::Value(json!(7)));
    let error = read::<Defaults>(&json!({ "pair": [3, 4] })).unwrap_err();
    assert_eq!(error.key, "pair[1]");
    let mut table = read(&json!({ "inner": { "a": 1 }, "c": null })).unwrap();
    let all: Params = read(&json!({ "inner": { "a": 2, "b": 3 }, "c": 4, "d": null })).unwrap();
    assert_eq!(headstack_schema::fill(&mut table, &all), ["inner.b", "c"]);
    assert_eq!(Value::from(table), json!({ "inner": { "a": 1, "b": 3 }, "c": 4 }));
}

/// What another enum may be, too.
#[derive(Debug, Clone, PartialEq, OneOf)]
enum Corner {
    /// How sharp.
    Sharpness(u32),
}

/// What changes.
#[derive(Debug, Clone, PartialEq, OneOf)]
#[one_of("nothing that changes")]
enum Change {
    /// So much.
    #[param(key = "amount")]
    By(Option<u32>),
    /// Name of the colour.
    #[param(model)]
    Colour {
        name: String,
        /// Parameters of the colour.
        parameters: Params,
    },
    /// To a place.
    ToPlace {
        /// Its number.
        at: u32,
        /// How long it takes.
        #[param(default, range = Span(0)..=Span(1_000_000_000))]
        takes: Span,
    },
    #[param(flatten)]
    Corner(Corner),
}

#[derive(Debug, PartialEq, Table)]
struct Entry {
    at: u32,
    #[param(flatten)]
    change: Change,
}

#[test]
fn one_of_several_keys_stands_in_a_table() {
    assert_eq!(Change::names(), ["amount", "colour", "to_place", "sharpness"]);
    let keys: Vec<&str> = Entry::fields().iter().map(|f| f.key).collect();
    assert_eq!(keys, ["at", "amount", "colour", "colour_parameters", "to_place", "sharpness"]);
    assert!(Entry::fields()[1..].iter().all(|f| f.usual == Usual::Nothing && !f.doc.is_empty()));
    assert_eq!(Entry::fields()[2].kind, Kind::Name("colour"));
    for (table, change) in [
        (json!({ "at": 1, "amount": 3 }), Change::By(Some(3))),
        (json!({ "at": 1, "colour": "red" }), Change::Colour { name: "red".into(), parameters: Params::new() }),
        (json!({ "at": 1, "to_place": { "at": 2, "takes": "0 ms" } }), Change::ToPlace { at: 2, takes: Span(0) }),
        (json!({ "at": 1, "sharpness": 5 }), Change::Corner(Corner::Sharpness(5))),
    ] {
        let entry = Entry { at: 1, change };
        assert_eq!(entry.write(), table);
        assert_eq!(entry.check(), Ok(()));
        assert!(table.get(entry.change.name()).is_some());
        assert_eq!(read(&table), Ok(entry));
    }
    for (table, error) in [
        (json!({}), "got nothing that changes, need one of amount, colour, to_place, sharpness"),
        (json!({ "amount": null }), "got nothing that changes, need one of amount, colour, to_place, sharpness"),
        (json!({ "sharpness": 1, "colour": 2 }), "got colour and sharpness, need one of amount, colour, to_place"),
        (json!({ "amount": 1, "colour_parameters": {} }), "colour_parameters: got amount, need colour beside them"),
        (json!({ "colour": 2 }), "colour: got integer 2, need text in quotes"),
        (json!({ "to_place": { "at": 1, "takes": "2 s" } }), "to_place.takes: got 2 s, need 0 ms to 1 s"),
        (json!({ "to_place": { "takes": "1 s" } }), "to_place.at: got nothing, need a value"),
        (
            json!({ "amont": 2 }),
            "got key \"amont\", need one of amount, colour, colour_parameters, to_place, sharpness",
        ),
    ] {
        let got = read::<Change>(&table).unwrap_err().to_string();
        assert!(got.starts_with(error), "{got}");
    }
}
