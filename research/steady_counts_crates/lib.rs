//! Small benchmarks of crates that programs use, by C functions for research/steady_counts.cpp. Each gets a text
//! and returns a number that depends on all of it. Their allocations go through `malloc`, as a crate's do.
use std::{slice, str};

fn text_of<'a>(text: *const u8, length: usize) -> &'a str {
    unsafe { str::from_utf8_unchecked(slice::from_raw_parts(text, length)) }
}

macro_rules! benchmark {
    ($name:ident, $text:ident, $work:expr) => {
        #[no_mangle]
        pub extern "C" fn $name(text: *const u8, length: usize) -> usize {
            let $text = text_of(text, length);
            $work
        }
    };
}

benchmark!(crate_csv, text, {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    reader.records().map(|record| record.map_or(0, |found| found.len())).sum()
});

benchmark!(crate_pulldown_cmark, text, {
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(text));
    html.len()
});

benchmark!(crate_quick_xml, text, {
    let mut reader = quick_xml::Reader::from_str(text);
    let mut events = Vec::new();
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) | Err(_) => break,
            Ok(event) => events.push(event.into_owned()),
        }
    }
    events.len()
});

benchmark!(crate_regex, text, {
    let expression = regex::Regex::new(r"item (\d+)").unwrap();
    expression.captures_iter(text).map(|found| found[1].len()).sum()
});

benchmark!(crate_serde_json, text, {
    let tree: serde_json::Value = serde_json::from_str(text).unwrap();
    tree.to_string().len()
});

benchmark!(crate_toml, text, {
    let tree: toml::Table = text.parse().unwrap();
    tree.to_string().len()
});
