//! The parser of bank texts: recursive descent over characters, so that every error knows its position.

use std::str::FromStr;

use super::concrete::Kernel;
use super::declaration::{Family, KernelParam};
use super::family::{Families, clinical, linear};
use super::term::{
    Each, Factor, Item, MAX_KERNELS, Number, Pick, Selector, Term, Value, check_range, check_repeats, exp2, too_many,
};
use super::text::{At, Fault, Parsed, is_bare};
use crate::closest::closest;
use crate::data::{Encoding, Period};
use crate::error::{Error, Result};

impl Families {
    /// Parses one kernel of these families: a single number, columns by position. The printed form of a [`Kernel`]
    /// parses back exactly. Positions are not checked against any data: compare `columns().end()` with the rows.
    pub fn kernel(&self, text: &str) -> Result<Kernel> {
        let parsed = parse(text, self).and_then(|(terms, _)| match terms.as_slice() {
            [term] => term.single(),
            [_, second, ..] => Err(Fault::new(second.at, "a single kernel is wanted here, found a list")),
            [] => Err(Fault::new(0usize, "a single kernel is wanted here")),
        });
        parsed.map_err(|fault| fault.within(text))
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// [`Families::kernel`] with the families of this crate.
    fn from_str(text: &str) -> Result<Self> {
        Families::standard().kernel(text)
    }
}

/// The terms of a bank text, and which of them begin an alternative after the first.
pub(super) fn parse(text: &str, families: &Families) -> Parsed<(Vec<Term>, Vec<usize>)> {
    let mut parser = Parser { chars: text.chars().collect(), at: 0, families };
    let (mut terms, mut starts): (Vec<Term>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut total = 0.0;
    let mut after = None;
    loop {
        parser.skip_space();
        let term = parser.term(after)?;
        total += term.n_values() as f64;
        if total > MAX_KERNELS as f64 {
            return Err(Fault::new(term.at, too_many()));
        }
        terms.push(term);
        // A term ends only at a comma, at a bar or at the end.
        if parser.eat(',') {
            after = Some("comma");
        } else if parser.eat('|') {
            after = Some("bar");
            starts.push(terms.len());
        } else {
            return Ok((terms, starts));
        }
    }
}

/// Kernels that are named by the features they take, besides `clinical`, which is a family.
const ENCODED: [&str; 5] = ["overlap", "spectrum", "mismatch", "gapped", "degree"];

/// Makes a feature and its reverse complement one, where a term says so.
fn pair_strands(term: &mut Term) -> Parsed<()> {
    if !term.revcomp {
        return Ok(());
    }
    for encoding in &mut term.encodings {
        match encoding {
            Encoding::Spectrum { revcomp, .. }
            | Encoding::Mismatch { revcomp, .. }
            | Encoding::Gapped { revcomp, .. } => *revcomp = true,
            _ => {
                let message = "`revcomp` is for spectrum, mismatch and gapped: positions have no reverse; leave it out";
                return Err(Fault::new(term.at, message));
            }
        }
    }
    Ok(())
}

struct Parser<'a> {
    chars: Vec<char>,
    at: usize,
    families: &'a Families,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn eat(&mut self, c: char) -> bool {
        let here = self.peek() == Some(c);
        self.at += usize::from(here);
        here
    }

    fn eat_range_dots(&mut self) -> bool {
        let here = self.chars[self.at..].starts_with(&['.', '.']);
        self.at += if here { 2 } else { 0 };
        here
    }

    fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn word(&mut self) -> String {
        match self.peek() {
            Some(c) if c.is_alphabetic() || c == '_' => {
                self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-')
            }
            _ => String::new(),
        }
    }

    /// The token at this position, for a message: a word, a character or the end.
    fn found(&mut self) -> String {
        let start = self.at;
        let mut word = self.word();
        self.at = start;
        if word.chars().count() > 40 {
            word = word.chars().take(40).chain(['…']).collect();
        }
        match self.peek() {
            None => "the end of the text".to_string(),
            Some(c) if word.is_empty() => format!("`{c}`"),
            _ => format!("`{word}`"),
        }
    }

    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let found = self.found();
        Err(Fault::new(self.at, format!("expected {what}, found {found}")))
    }

    fn term(&mut self, after: Option<&str>) -> Parsed<Term> {
        let at = At(self.at);
        let encoded = self.encoded_head()?;
        let family = match &encoded {
            Some((_, encodings)) if encodings.contains(&Encoding::Clinical) => &clinical::FAMILY,
            Some(_) => &linear::FAMILY,
            None => self.family(after)?,
        };
        let (head, encodings) = encoded.map_or((None, vec![]), |(head, encodings)| (Some(head), encodings));
        let mut term = Term {
            at,
            family,
            values: vec![],
            options: vec![],
            gram: None,
            each: None,
            on: None,
            unscaled: false,
            raw: false,
            centred: false,
            encodings,
            head,
            revcomp: false,
        };
        self.skip_space();
        if term.encodings.is_empty() {
            self.arguments(&mut term)?;
        }
        self.suffixes(&mut term)?;
        pair_strands(&mut term)?;
        if term.unscaled && (family.takes_gram() || !term.encodings.is_empty()) {
            let message = "`unscaled` is for columns of numbers; this kernel takes something else: leave it out";
            return Err(Fault::new(at, message));
        }
        let name = family.name;
        if family.needs_raw() && !term.raw {
            let written = if family.params.is_empty() { name.to_string() } else { format!("{name}(...)") };
            let message = format!("{name} needs `raw`: it has no unit diagonal; write {written} raw");
            return Err(Fault::new(at, message));
        }
        if family.takes_distances() {
            match (term.each.take(), term.on.take()) {
                (None, Some(Selector::View(_, name))) => term.gram = Some(name),
                _ => {
                    let message =
                        format!("{name} needs the name of its matrix; write {} for one called shape", family.example);
                    return Err(Fault::new(at, message));
                }
            }
        } else if family.takes_gram() && (term.each.is_some() || term.on.is_some()) {
            let message = format!("a Gram matrix has no columns; write {name}(NAME) without `each` and `on`");
            return Err(Fault::new(at, message));
        }
        Ok(term)
    }

    /// A kernel that is named by the features it takes, as in `spectrum(3..6)`: its canonical text and its encodings;
    /// `None` for other kernels.
    fn encoded_head(&mut self) -> Parsed<Option<(String, Vec<Encoding>)>> {
        let start = self.at;
        let word = self.word();
        let encodings: Vec<Encoding> = match word.as_str() {
            "overlap" => vec![Encoding::Overlap],
            "clinical" => vec![Encoding::Clinical],
            "spectrum" => {
                let numbers = self.wholes("letters, as in spectrum(3..6)")?;
                numbers.into_iter().map(|k| Encoding::Spectrum { k, revcomp: false }).collect()
            }
            "mismatch" => match self.wholes("letters and mismatches, as in mismatch(5, 1)")?.as_slice() {
                &[k, m] => vec![Encoding::Mismatch { k, m, revcomp: false }],
                _ => return Err(Fault::new(start, "mismatch takes letters and mismatches, as in mismatch(5, 1)")),
            },
            "gapped" => match self.wholes("a window and its letters, as in gapped(6, 3)")?.as_slice() {
                &[length, k] => vec![Encoding::Gapped { length, k, revcomp: false }],
                _ => return Err(Fault::new(start, "gapped takes a window and its letters, as in gapped(6, 3)")),
            },
            "degree" => self.degrees(start)?,
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        if let Some(fault) = encodings.iter().find_map(|encoding| encoding.fault()) {
            return Err(Fault::new(start, format!("{word}: {fault}")));
        }
        let text: String = self.chars[start..self.at].iter().filter(|c| !c.is_whitespace()).collect();
        Ok(Some((text.replace(',', ", ").replace(';', "; "), encodings)))
    }

    /// `(6)`, `(4, 6)` or `(6; shift=2)` after `degree`.
    fn degrees(&mut self, start: usize) -> Parsed<Vec<Encoding>> {
        let wants = "letters, as in degree(6; shift=2)";
        self.skip_space();
        if !self.eat('(') {
            return self.expected(&format!("`(` and {wants}"));
        }
        let numbers = self.whole_list(wants)?;
        let mut shift = 0;
        if self.eat(';') {
            self.skip_space();
            let at = self.at;
            if self.word() != "shift" || !self.eat('=') {
                self.at = at;
                return self.expected("shift=NUMBER, as in degree(6; shift=2)");
            }
            shift = self.whole("a whole number after shift=")?;
        }
        self.skip_space();
        if !self.eat(')') {
            return self.expected("`)`");
        }
        if numbers.is_empty() {
            return Err(Fault::new(start, format!("degree takes {wants}")));
        }
        Ok(numbers.into_iter().map(|degree| Encoding::Degree { degree, shift }).collect())
    }

    /// Whole numbers in parentheses.
    fn wholes(&mut self, wants: &str) -> Parsed<Vec<usize>> {
        self.skip_space();
        if !self.eat('(') {
            return self.expected(&format!("`(` and {wants}"));
        }
        let numbers = self.whole_list(wants)?;
        if !self.eat(')') {
            return self.expected("`,` or `)`");
        }
        Ok(numbers)
    }

    /// Whole numbers and ranges of them with commas between.
    fn whole_list(&mut self, wants: &str) -> Parsed<Vec<usize>> {
        let mut numbers = vec![];
        loop {
            let at = self.at;
            let low = self.whole(wants)?;
            self.skip_space();
            let high = if self.eat_range_dots() { self.whole(wants)? } else { low };
            if high < low || high - low > 64 {
                return Err(Fault::new(at, format!("the range {low}..{high} must ascend and be short")));
            }
            numbers.extend(low..=high);
            self.skip_space();
            if !self.eat(',') {
                return Ok(numbers);
            }
        }
    }

    fn whole(&mut self, wants: &str) -> Parsed<usize> {
        self.skip_space();
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(number) if digits.len() < 4 => Ok(number),
            _ => self.expected(wants),
        }
    }

    /// `words(NAME, ...)`, `chars(NAME; 3..5)` or `period(NAME; year)` after `on`; `None` if something else comes next.
    fn encoded_selector(&mut self) -> Parsed<Option<(Encoding, Selector)>> {
        let start = self.at;
        let word = self.word();
        if !matches!(word.as_str(), "words" | "chars" | "period") || !self.eat('(') {
            self.at = start;
            return Ok(None);
        }
        let mut items = vec![];
        loop {
            self.skip_space();
            let at = At(self.at);
            let (name, quoted) = match self.peek() {
                Some('"') => self.name()?,
                _ => {
                    let name = self.take_while(|c| !matches!(c, ',' | ';' | ')'));
                    (name.trim().to_string(), false)
                }
            };
            if name.is_empty() && !quoted {
                return self.expected(&format!("the name of a column, as in {word}(NAME)"));
            }
            items.push(Item { at, pick: Pick::Name(name) });
            self.skip_space();
            if !self.eat(',') {
                break;
            }
        }
        let encoding = self.selector_arguments(&word)?;
        self.skip_space();
        if !self.eat(')') {
            return self.expected("`,`, `;` or `)`");
        }
        match encoding.fault() {
            Some(fault) => Err(Fault::new(start, format!("{word}: {fault}"))),
            None => Ok(Some((encoding, Selector::Items(items)))),
        }
    }

    /// What follows the columns of `words`, `chars` or `period`.
    fn selector_arguments(&mut self, word: &str) -> Parsed<Encoding> {
        let has_more = self.eat(';');
        if word == "period" {
            self.skip_space();
            let at = self.at;
            let found = self.word();
            let period = Period::ALL.into_iter().find(|period| period.word() == found);
            return match period.filter(|_| has_more) {
                Some(period) => Ok(Encoding::Period(period)),
                None => Err(Fault::new(at, "period takes year, week or day, as in period(NAME; year)")),
            };
        }
        let default = if word == "words" { (1, 1) } else { (3, 5) };
        let (low, high) = match has_more {
            true => {
                let low = self.whole("how many, as in 1..2")?;
                let high = if self.eat_range_dots() { self.whole("how many, as in 1..2")? } else { low };
                (low, high)
            }
            false => default,
        };
        Ok(if word == "words" { Encoding::Words { low, high } } else { Encoding::Chars { low, high } })
    }

    /// The parenthesised arguments after the name of a family, if any.
    fn arguments(&mut self, term: &mut Term) -> Parsed<()> {
        let (family, wants) = (term.family, self.families.wants(term.family));
        if family.takes_gram() && !family.takes_distances() {
            if !self.eat('(') {
                return self.expected(&format!("`(` and {wants}"));
            }
            term.gram = Some(self.enclosed(&wants)?);
            return Ok(());
        }
        let Some(first) = family.params.first() else {
            if self.peek() == Some('(') {
                let name = family.name;
                let message = format!("{name} takes no values; write {name} without parentheses");
                return Err(Fault::new(self.at, message));
            }
            return Ok(());
        };
        if self.eat('(') {
            self.values(term, &wants)
        } else if first.default.is_some() {
            Ok(())
        } else {
            self.expected(&format!("`(` and {wants}"))
        }
    }

    /// A name after `(`, through the closing parenthesis.
    fn enclosed(&mut self, wants: &str) -> Parsed<String> {
        self.skip_space();
        let (name, quoted) = match self.peek() {
            Some('"') => self.name()?,
            _ => (self.take_while(|c| is_bare(c) && !matches!(c, '(' | ')')), false),
        };
        if name.is_empty() && !quoted {
            return self.expected(wants);
        }
        self.skip_space();
        if !self.eat(')') {
            return self.expected("`)`");
        }
        Ok(name)
    }

    fn family(&mut self, after: Option<&str>) -> Parsed<&'static Family> {
        let families = self.families;
        let names: Vec<&str> = families.names().into_iter().chain(ENCODED).collect();
        let at = self.at;
        let word = self.word();
        if word.is_empty() && after.is_none() && self.peek().is_none() {
            return Err(Fault::new(at, "the bank is empty; write kernels, such as gaussian(1), polynomial(2)"));
        }
        if word.is_empty() {
            let place = after.map_or(String::new(), |mark| format!(" after the {mark}"));
            return self.expected(&format!("a kernel{place} ({})", names.join(", ")));
        }
        if let Some(family) = families.find(&word, None) {
            return Ok(family);
        }
        let lower = word.to_lowercase();
        let mut known_as = families.iter().flat_map(|family| family.also);
        let other = known_as.find(|(other, _)| *other == lower).map(|(_, ours)| *ours);
        self.at = at;
        let found = self.found();
        Err(Fault::new(
            at,
            match other.or_else(|| closest(&word, names.iter().copied())) {
                Some(ours) => format!("unknown kernel {found}; did you mean {ours}? (known: {})", names.join(", ")),
                None => format!("unknown kernel {found}; use one of {}", names.join(", ")),
            },
        ))
    }

    /// Whether this word is the key of some family.
    fn is_key(&self, word: &str) -> bool {
        self.families.iter().any(|family| family.key == Some(word))
    }

    /// The values after `(`, through the closing parenthesis.
    fn values(&mut self, term: &mut Term, wants: &str) -> Parsed<()> {
        self.skip_space();
        let start = self.at;
        let word = self.word();
        if self.is_key(&word) {
            self.skip_space();
            if !self.eat('=') {
                return self.expected(&format!("`=` after `{word}`"));
            }
            term.family = self.keyed(term.family, &word, wants).map_err(|message| Fault::new(start, message))?;
        } else {
            self.at = start;
            let is_option = term.family.params.iter().skip(1).any(|param| param.name == word);
            if is_option || matches!(self.peek(), None | Some(')')) {
                return self.expected(wants);
            }
        }
        loop {
            if !self.option(term)? {
                let value = self.value(term.family.params.first().is_some_and(|param| param.median))?;
                term.check_value(&value)?;
                term.values.push(value);
            }
            self.skip_space();
            if self.eat(')') {
                return Ok(());
            }
            if !self.eat(',') {
                return self.no_more_values();
            }
        }
    }

    /// The family of the same name that takes its values after this key.
    fn keyed(&self, family: &Family, key: &str, wants: &str) -> std::result::Result<&'static Family, String> {
        self.families.find(family.name, Some(key)).ok_or_else(|| {
            let takers = self.families.iter().filter(|other| other.key == Some(key)).map(|other| other.name);
            let takers = takers.collect::<Vec<_>>().join(" and ");
            format!("only {takers} takes `{key}=`; {} takes {wants}", family.name)
        })
    }

    /// A parameter after the values, as in `alpha=2`; false if something else comes next.
    fn option(&mut self, term: &mut Term) -> Parsed<bool> {
        self.skip_space();
        let at = self.at;
        let word = self.word();
        let named = |(_, param): &(usize, &KernelParam)| param.name == word;
        let Some((k, param)) = term.family.params.iter().enumerate().skip(1).find(named) else {
            self.at = at;
            return match term.options.first() {
                Some((first, _)) => {
                    let name = term.family.params[*first].name;
                    Err(Fault::new(at, format!("values stand before `{name}=`")))
                }
                None => Ok(false),
            };
        };
        self.skip_space();
        if !self.eat('=') {
            return self.expected(&format!("`=` after `{word}`"));
        }
        if term.options.iter().any(|(known, _)| *known == k) {
            return Err(Fault::new(at, format!("`{word}=` stands twice; write it once")));
        }
        let number = self.number()?;
        check_range(param, number.value, number.at, &number)?;
        self.skip_space();
        if self.eat_range_dots() {
            return Err(Fault::new(number.at, format!("`{word}=` takes one number; write a kernel for each")));
        }
        term.options.push((k, number));
        Ok(true)
    }

    /// The error for a list of values that cannot continue here.
    fn no_more_values(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(';') => Err(Fault::new(self.at, "a count follows a range, as in 2^-3..2^3; 10")),
            Some('*') => Err(Fault::new(self.at, "only `median` is multiplied, as in median*2")),
            Some('.') => self.expected("a digit after the decimal point, or `..` for a range"),
            _ => self.expected("`,` or `)`"),
        }
    }

    fn value(&mut self, median: bool) -> Parsed<Value> {
        self.skip_space();
        let at = At(self.at);
        let word = self.word();
        match word.as_str() {
            "median" => {
                self.skip_space();
                let factor = if self.eat('*') { Some(self.factor()?) } else { None };
                Ok(Value::Median(at, factor))
            }
            word if self.is_key(word) => Err(Fault::new(at, format!("`{word}=` stands once, before all values"))),
            word => {
                self.at = at.0;
                if median && !word.is_empty() {
                    return self.expected("a number above 0 or `median`");
                }
                Ok(Value::Plain(self.factor()?))
            }
        }
    }

    fn factor(&mut self) -> Parsed<Factor> {
        let low = self.number()?;
        self.skip_space();
        if !self.eat_range_dots() {
            return Ok(Factor::One(low));
        }
        let high = self.number()?;
        self.skip_space();
        if !self.eat(';') {
            return Ok(Factor::Steps(low, high));
        }
        self.skip_space();
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return self.expected("how many kernels after `;`, as in 2^-3..2^3; 10");
        }
        // A count with too many digits means too many kernels.
        Ok(Factor::Spaced(low, high, At(at), digits.parse().unwrap_or(usize::MAX)))
    }

    fn number(&mut self) -> Parsed<Number> {
        self.skip_space();
        let at = self.at;
        let negative = self.eat('-');
        let mut text = self.decimal();
        if text.is_empty() {
            self.at = at;
            return match self.peek() {
                Some('.') => self.expected("a digit before the decimal point, as in 0.5"),
                _ => self.expected("a number above 0"),
            };
        }
        if negative {
            return Err(Fault::new(at, format!("values must be above 0, found -{text}")));
        }
        if self.peek() == Some('^') {
            return self.power(at, &text);
        }
        text.push_str(&self.scientific());
        let value: f64 = text.parse().map_err(|_| Fault::new(at, format!("`{text}` is not a number")))?;
        if value == 0.0 {
            return Err(Fault::new(at, format!("values must be above 0, found {text}")));
        }
        if value.is_infinite() {
            return Err(Fault::new(at, format!("{text} is too large; numbers end at 1.7e308")));
        }
        Ok(Number { at: At(at), text, value, exponent: None })
    }

    /// Digits with at most one decimal point, which must be followed by digits: in `1..3` the dot is not part of the
    /// number.
    fn decimal(&mut self) -> String {
        let mut text = self.take_while(|c| c.is_ascii_digit());
        let next = self.chars.get(self.at + 1);
        if !text.is_empty() && self.peek() == Some('.') && next.is_some_and(char::is_ascii_digit) {
            self.at += 1;
            text.push('.');
            text.push_str(&self.take_while(|c| c.is_ascii_digit()));
        }
        text
    }

    /// The exponent of `1e-3`, or nothing if no digits follow the `e`.
    fn scientific(&mut self) -> String {
        let start = self.at;
        if self.eat('e') || self.eat('E') {
            let _ = self.eat('-') || self.eat('+');
            if !self.take_while(|c| c.is_ascii_digit()).is_empty() {
                return self.chars[start..self.at].iter().collect();
            }
        }
        self.at = start;
        String::new()
    }

    /// `2^exponent`, with the parser at the `^`.
    fn power(&mut self, at: usize, base: &str) -> Parsed<Number> {
        if base != "2" {
            return Err(Fault::new(
                at,
                format!("only powers of 2 are written with `^`, found {base}^; write the number out"),
            ));
        }
        self.at += 1;
        let exponent_at = self.at;
        let minus = self.eat('-');
        let digits = self.decimal();
        if digits.is_empty() {
            return self.expected("a number after `2^`, as in 2^-3");
        }
        let size: f64 = digits.parse().map_err(|_| Fault::new(exponent_at, format!("`{digits}` is not a number")))?;
        let exponent = if minus { -size } else { size };
        let text: String = self.chars[at..self.at].iter().collect();
        if !(-1022.0..=1023.0).contains(&exponent) {
            return Err(Fault::new(at, format!("{text} is out of range; exponents run from -1022 to 1023")));
        }
        Ok(Number { at: At(at), text, value: exp2(exponent), exponent: Some(exponent) })
    }

    fn suffixes(&mut self, term: &mut Term) -> Parsed<()> {
        loop {
            self.skip_space();
            let at = self.at;
            if matches!(self.peek(), None | Some(',' | '|')) {
                return Ok(());
            }
            let word = self.word();
            let again = match word.as_str() {
                "each" => {
                    let each = self.each()?;
                    term.each.replace((At(at), each)).is_some()
                }
                "on" => {
                    let again = term.on.is_some();
                    self.skip_space();
                    match self.encoded_selector()? {
                        Some((encoding, selector)) if term.encodings.is_empty() => {
                            term.encodings = vec![encoding];
                            term.on = Some(selector);
                        }
                        Some(_) => {
                            let message = "takes features of its own; name columns after `on`";
                            return Err(Fault::new(at, format!("{} {message}", term.head.as_deref().unwrap_or("it"))));
                        }
                        None => term.on = Some(self.selector()?),
                    }
                    again
                }
                "unscaled" => std::mem::replace(&mut term.unscaled, true),
                "raw" => std::mem::replace(&mut term.raw, true),
                "centred" => std::mem::replace(&mut term.centred, true),
                "revcomp" if term.head.is_some() => std::mem::replace(&mut term.revcomp, true),
                _ => return Err(self.no_suffix(at, &word)),
            };
            if again {
                return Err(Fault::new(at, format!("`{word}` stands twice; write it once")));
            }
        }
    }

    /// The word after `each`: `view`, `set(FILE)`, or none.
    fn each(&mut self) -> Parsed<Each> {
        let start = self.at;
        self.skip_space();
        match self.word().as_str() {
            "view" => Ok(Each::View),
            "set" => {
                self.skip_space();
                if !self.eat('(') {
                    return self.expected("`(` and a file of feature sets, as in each set(pathways.gmt)");
                }
                Ok(Each::Set(self.enclosed("a file of feature sets, as in each set(pathways.gmt)")?))
            }
            _ => {
                self.at = start;
                Ok(Each::Column)
            }
        }
    }

    fn no_suffix(&mut self, at: usize, word: &str) -> Fault {
        self.at = at;
        let found = self.found();
        let hint = closest(word, ["each", "on", "unscaled", "raw", "centred"])
            .map_or(String::new(), |w| format!("; did you mean {w}?"));
        Fault::new(at, format!("expected `,`, each, on, unscaled, raw or centred, found {found}{hint}"))
    }

    fn selector(&mut self) -> Parsed<Selector> {
        self.skip_space();
        let at = self.at;
        if self.eat('[') {
            return Ok(Selector::Items(self.items()?));
        }
        let (name, quoted) = self.name()?;
        if name.is_empty() && !quoted {
            return self.expected("a view or [columns] after `on`");
        }
        if !quoted && name.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Fault::new(at, format!("positions stand in brackets; write on [{name}]")));
        }
        Ok(Selector::View(At(at), name))
    }

    /// The entries after `[`, through the closing bracket.
    fn items(&mut self) -> Parsed<Vec<Item>> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            items.push(self.item()?);
            self.skip_space();
            if self.eat(']') {
                break;
            }
            if self.peek() == Some(':') {
                return Err(Fault::new(
                    self.at,
                    "a range has whole numbers on both sides, as in 0:5; quote names that hold `:`",
                ));
            }
            if !self.eat(',') {
                let named = matches!(items.last(), Some(Item { pick: Pick::Name(_), .. }));
                // Most likely a name of two words.
                let hint = if named { "; names with spaces stand in double quotes" } else { "" };
                let found = self.found();
                return Err(Fault::new(self.at, format!("expected `,` or `]`, found {found}{hint}")));
            }
        }
        let known: Vec<_> = items.iter().filter_map(Item::range).collect();
        check_repeats(&known)?;
        Ok(items)
    }

    fn item(&mut self) -> Parsed<Item> {
        let at = self.at;
        let (name, quoted) = self.name()?;
        if name.is_empty() && !quoted {
            return self.expected("a column position, range or name");
        }
        if quoted || !name.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(Item { at: At(at), pick: Pick::Name(name) });
        }
        let start = position(at, &name)?;
        self.skip_space();
        if !self.eat(':') {
            return Ok(Item { at: At(at), pick: Pick::Range(start..start + 1) });
        }
        self.skip_space();
        let end_at = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return self.expected("the end of the range, as in 0:5");
        }
        let end = position(end_at, &digits)?;
        if start >= end {
            return Err(Fault::new(
                at,
                format!("the range {start}:{end} is empty; its end is one past its last column"),
            ));
        }
        Ok(Item { at: At(at), pick: Pick::Range(start..end) })
    }

    /// A name and whether it was quoted; empty and unquoted if there is none.
    fn name(&mut self) -> Parsed<(String, bool)> {
        let at = self.at;
        if !self.eat('"') {
            return Ok((self.take_while(is_bare), false));
        }
        let mut name = String::new();
        loop {
            name.push_str(&self.take_while(|c| c != '"'));
            if !self.eat('"') {
                return Err(Fault::new(at, "the quote is not closed; add `\"` after the name"));
            }
            if !self.eat('"') {
                return Ok((name, true));
            }
            name.push('"');
        }
    }
}

fn position(at: usize, digits: &str) -> Parsed<usize> {
    // One below the largest, so that the end of a range fits.
    match digits.parse::<usize>() {
        Ok(position) if position < usize::MAX => Ok(position),
        _ => Err(Fault::new(at, format!("position {digits} is too large"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelBank;
    use crate::kernel::family::{
        gaussian, gaussian_gamma, laplacian, linear, polynomial, precomputed, rational_quadratic, sigmoid,
    };
    use proptest::prelude::*;

    /// The character and message of the error in a text that must not parse.
    fn fault<T: FromStr<Err = Error>>(text: &str) -> (usize, String) {
        match text.parse::<T>() {
            Err(Error::Bank { text: kept, at, message }) => {
                assert_eq!(kept, text);
                (at, message)
            }
            Err(other) => panic!("{text}: {other}"),
            Ok(_) => panic!("{text} parses"),
        }
    }

    #[test]
    #[rustfmt::skip]
    fn parse_of_malformed_text_points_at_the_character() {
        let table: &[(&str, usize, &str)] = &[
            ("", 0, "the bank is empty; write kernels, such as gaussian(1), polynomial(2)"),
            ("   ", 3, "the bank is empty; write kernels, such as gaussian(1), polynomial(2)"),
            (",", 0, "expected a kernel (NAMES), found `,`"),
            ("gaussian", 8, "expected `(` and a width, as in gaussian(1) or gaussian(gamma=0.5), found the end of the text"),
            ("gaussian(1),", 12, "expected a kernel after the comma (NAMES), found the end of the text"),
            ("gaussian(1), ", 13, "expected a kernel after the comma (NAMES), found the end of the text"),
            ("gaussian(1) | ", 14, "expected a kernel after the bar (NAMES), found the end of the text"),
            ("gaussian(1),,linear", 12, "expected a kernel after the comma (NAMES), found `,`"),
            ("gausian(1)", 0, "unknown kernel `gausian`; did you mean gaussian? (known: NAMES)"),
            ("rbf(1)", 0, "unknown kernel `rbf`; did you mean gaussian(gamma=0.5)? (known: NAMES)"),
            ("Gaussian(1)", 0, "unknown kernel `Gaussian`; did you mean gaussian? (known: NAMES)"),
            ("foo(1)", 0, "unknown kernel `foo`; use one of NAMES"),
            ("7", 0, "expected a kernel (NAMES), found `7`"),
            ("gaussian(", 9, "expected a width, as in gaussian(1) or gaussian(gamma=0.5), found the end of the text"),
            ("gaussian()", 9, "expected a width, as in gaussian(1) or gaussian(gamma=0.5), found `)`"),
            ("gaussian(1", 10, "expected `,` or `)`, found the end of the text"),
            ("gaussian(1))", 11, "expected `,`, each, on, unscaled, raw or centred, found `)`"),
            ("gaussian(1,)", 11, "expected a number above 0, found `)`"),
            ("gaussian(1;3)", 10, "a count follows a range, as in 2^-3..2^3; 10"),
            ("gaussian(0)", 9, "values must be above 0, found 0"),
            ("gaussian(0.0, 1)", 9, "values must be above 0, found 0.0"),
            ("gaussian(1, -2)", 12, "values must be above 0, found -2"),
            ("gaussian(nan)", 9, "expected a number above 0 or `median`, found `nan`"),
            ("gaussian(inf)", 9, "expected a number above 0 or `median`, found `inf`"),
            ("gaussian(1e999)", 9, "1e999 is too large; numbers end at 1.7e308"),
            ("gaussian(1e-200)", 9, "width must lie between 1e-150 and 1e150, found 1e-200"),
            ("gaussian(2^-600..2^2)", 9, "width must lie between 1e-150 and 1e150, found 2^-600"),
            ("gaussian(.5)", 9, "expected a digit before the decimal point, as in 0.5, found `.`"),
            ("gaussian(1.)", 10, "expected a digit after the decimal point, or `..` for a range, found `.`"),
            ("gaussian(1.5.2)", 12, "expected a digit after the decimal point, or `..` for a range, found `.`"),
            ("gaussian(2x)", 10, "expected `,` or `)`, found `x`"),
            ("gaussian(10^2)", 9, "only powers of 2 are written with `^`, found 10^; write the number out"),
            ("gaussian(2^)", 11, "expected a number after `2^`, as in 2^-3, found `)`"),
            ("gaussian(2^5000)", 9, "2^5000 is out of range; exponents run from -1022 to 1023"),
            ("gaussian(2^1.5^2)", 14, "expected `,` or `)`, found `^`"),
            ("gaussian(2*median)", 10, "only `median` is multiplied, as in median*2"),
            ("gaussian(median*)", 16, "expected a number above 0, found `)`"),
            ("gaussian(median 2)", 16, "expected `,` or `)`, found `2`"),
            ("gaussian(medain)", 9, "expected a number above 0 or `median`, found `medain`"),
            ("gaussian(2^3..2^-3)", 9, "the range runs down from 2^3 to 2^-3; write 2^-3..2^3"),
            ("gaussian(3..1)", 9, "the range runs down from 3 to 1; write 1..3"),
            ("gaussian(0.1..1)", 9, "a range runs over powers of two a whole number of steps apart (2^-3..2^3) or over whole numbers (1..3); for 0.1..1 add how many, as in 0.1..1; 10"),
            ("gaussian(2^0..2^1.5)", 9, "a range runs over powers of two a whole number of steps apart (2^-3..2^3) or over whole numbers (1..3); for 2^0..2^1.5 add how many, as in 2^0..2^1.5; 10"),
            ("gaussian(2^1..8)", 9, "a range runs over powers of two a whole number of steps apart (2^-3..2^3) or over whole numbers (1..3); for 2^1..8 add how many, as in 2^1..8; 10"),
            ("gaussian(1..)", 12, "expected a number above 0, found `)`"),
            ("gaussian(1...3)", 12, "expected a digit before the decimal point, as in 0.5, found `.`"),
            ("gaussian(1..2;)", 14, "expected how many kernels after `;`, as in 2^-3..2^3; 10, found `)`"),
            ("gaussian(1..2; 0)", 15, "a count of 0 leaves no kernel; write 2 or more"),
            ("gaussian(1..2; 1)", 15, "one kernel cannot stand at both 1 and 2; write a count of 2 or more"),
            ("gaussian(2..2; 3)", 15, "3 kernels between 2 and 2 would be equal; write one value"),
            ("gaussian(1..2; 1000001)", 15, "the bank holds more than 1,000,000 kernels; use fewer values or columns"),
            ("gaussian(1..2; 99999999999999999999999)", 15, "the bank holds more than 1,000,000 kernels; use fewer values or columns"),
            ("gaussian(1..9000000)", 9, "the bank holds more than 1,000,000 kernels; use fewer values or columns"),
            ("gaussian(1..600000, 1..600000)", 0, "the bank holds more than 1,000,000 kernels; use fewer values or columns"),
            ("gaussian(gamma 1)", 15, "expected `=` after `gamma`, found `1`"),
            ("gaussian(gamma=median)", 15, "`median` stands for widths only; write a number here"),
            ("gaussian(gamma=)", 15, "expected a number above 0, found `)`"),
            ("gaussian(1, gamma=2)", 12, "`gamma=` stands once, before all values"),
            ("laplacian(gamma=1)", 10, "only gaussian takes `gamma=`; laplacian takes a rate, as in laplacian(0.1)"),
            ("laplacian(median)", 10, "`median` stands for widths only; write a number here"),
            ("laplacian", 9, "expected `(` and a rate, as in laplacian(0.1), found the end of the text"),
            ("linear(1)", 6, "linear takes no values; write linear without parentheses"),
            ("linear()", 6, "linear takes no values; write linear without parentheses"),
            ("polynomial(2.5)", 11, "degree must be a whole number from 1 to 64, found 2.5"),
            ("polynomial(0)", 11, "values must be above 0, found 0"),
            ("polynomial(1..65)", 14, "degree must be a whole number from 1 to 64, found 65"),
            ("polynomial(1..4; 2)", 17, "degrees cannot be log-spaced; write a range such as 1..3"),
            ("polynomial", 10, "expected `(` and a degree, as in polynomial(2), found the end of the text"),
            ("sigmoid(0.5)", 0, "sigmoid needs `raw`: it has no unit diagonal; write sigmoid(...) raw"),
            ("linear, sigmoid(0.5) centred", 8, "sigmoid needs `raw`: it has no unit diagonal; write sigmoid(...) raw"),
            ("gaussian(1) raw raw", 16, "`raw` stands twice; write it once"),
            ("linear unscaled unscaled", 16, "`unscaled` stands twice; write it once"),
            ("precomputed(G) unscaled", 0, "`unscaled` is for columns of numbers; this kernel takes something else: leave it out"),
            ("overlap unscaled", 0, "`unscaled` is for columns of numbers; this kernel takes something else: leave it out"),
            ("gaussian(1) on a on b", 17, "`on` stands twice; write it once"),
            ("gaussian(1) centered", 12, "expected `,`, each, on, unscaled, raw or centred, found `centered`; did you mean centred?"),
            ("gaussian(1) foo", 12, "expected `,`, each, on, unscaled, raw or centred, found `foo`"),
            ("gaussian(1) linear", 12, "expected `,`, each, on, unscaled, raw or centred, found `linear`"),
            ("gaussian(1) on", 14, "expected a view or [columns] after `on`, found the end of the text"),
            ("gaussian(1) on, linear", 14, "expected a view or [columns] after `on`, found `,`"),
            ("gaussian(1) on 3", 15, "positions stand in brackets; write on [3]"),
            ("gaussian(1) on []", 16, "expected a column position, range or name, found `]`"),
            ("gaussian(1) on [", 16, "expected a column position, range or name, found the end of the text"),
            ("gaussian(1) on [1", 17, "expected `,` or `]`, found the end of the text"),
            ("gaussian(1) on [1,]", 18, "expected a column position, range or name, found `]`"),
            ("gaussian(1) on [1 2]", 18, "expected `,` or `]`, found `2`"),
            ("gaussian(1) on [:5]", 16, "expected a column position, range or name, found `:`"),
            ("gaussian(1) on [5:]", 18, "expected the end of the range, as in 0:5, found `]`"),
            ("gaussian(1) on [5:3]", 16, "the range 5:3 is empty; its end is one past its last column"),
            ("gaussian(1) on [3:3]", 16, "the range 3:3 is empty; its end is one past its last column"),
            ("gaussian(1) on [a:b]", 17, "a range has whole numbers on both sides, as in 0:5; quote names that hold `:`"),
            ("gaussian(1) on [3, 0:5]", 19, "column 3 is selected twice; name it once"),
            ("gaussian(1) on [99999999999999999999]", 16, "position 99999999999999999999 is too large"),
            ("gaussian(1) on [\"abc]", 16, "the quote is not closed; add `\"` after the name"),
            ("gaussian(1) on rna[0:5]", 18, "expected `,`, each, on, unscaled, raw or centred, found `[`"),
            ("rational_quadratic(1, alpha 2)", 28, "expected `=` after `alpha`, found `2`"),
            ("rational_quadratic(1, alpha=2, 3)", 31, "values stand before `alpha=`"),
            ("rational_quadratic(1, alpha=2, alpha=3)", 31, "`alpha=` stands twice; write it once"),
            ("rational_quadratic(alpha=2)", 19, "expected a width, as in rational_quadratic(1, alpha=2), found `alpha`"),
            ("rational_quadratic(1, alpha=1e9)", 28, "alpha must lie between 0.001 and 1000, found 1e9"),
            ("rational_quadratic(1, alpha=1..3)", 28, "`alpha=` takes one number; write a kernel for each"),
            ("gaussian(1, alpha=2)", 12, "expected a number above 0 or `median`, found `alpha`"),
            ("rq(1)", 0, "unknown kernel `rq`; did you mean rational_quadratic(1)? (known: NAMES)"),
            ("precomputed", 11, "expected `(` and the name of a Gram matrix, as in precomputed(shape), found the end of the text"),
            ("precomputed()", 12, "expected the name of a Gram matrix, as in precomputed(shape), found `)`"),
            ("precomputed(a b)", 14, "expected `)`, found `b`"),
            ("distance(1)", 0, "distance needs the name of its matrix; write distance(1) on shape for one called shape"),
            ("distance(1) on [0:3]", 0, "distance needs the name of its matrix; write distance(1) on shape for one called shape"),
            ("distance(1) on d each", 0, "distance needs the name of its matrix; write distance(1) on shape for one called shape"),
            ("precomputed(a) each", 0, "a Gram matrix has no columns; write precomputed(NAME) without `each` and `on`"),
            ("linear each set", 15, "expected `(` and a file of feature sets, as in each set(pathways.gmt), found the end of the text"),
            ("linear each set()", 16, "expected a file of feature sets, as in each set(pathways.gmt), found `)`"),
            ("linéar, gaussian(0)", 0, "unknown kernel `linéar`; did you mean linear? (known: NAMES)"),
            ("gaussian(1) on \"gène\", linear(2)", 29, "linear takes no values; write linear without parentheses"),
        ];
        let names = Families::standard().names().into_iter().chain(ENCODED).collect::<Vec<_>>().join(", ");
        for &(text, at, message) in table {
            assert_eq!(fault::<KernelBank>(text), (at, message.replace("NAMES", &names)), "{text}");
        }
    }

    #[test]
    fn parse_of_many_kernels_as_one_points_at_the_first_that_is_too_much() {
        for (text, at) in [
            ("linear, gaussian(1)", 8),
            ("gaussian(1, 2)", 12),
            ("gaussian(1..2)", 9),
            ("gaussian(median)", 9),
            ("gaussian(1) each", 12),
            ("gaussian(1) on rna", 15),
            ("gaussian(1) on [0, a]", 19),
            ("gaussian(1) on [0, 0]", 19),
            ("", 0),
        ] {
            assert_eq!(fault::<Kernel>(text).0, at, "{text}");
        }
    }

    #[test]
    fn print_of_loose_text_is_canonical() {
        for (loose, canonical) in [
            (" gaussian ( 1 ,2 )raw each\ton[0 , 1 : 3]", "gaussian(1, 2) each on [0, 1:3] raw"),
            ("linear raw unscaled on rna", "linear on rna unscaled raw"),
            ("linear centred on \"rna\" , linear", "linear on rna centred, linear"),
            ("gaussian( gamma = 2^-15 .. 2^15 ;300 )", "gaussian(gamma=2^-15..2^15; 300)"),
            ("gaussian(median * 1e-3..1E+2; 4)", "gaussian(median*1e-3..1E+2; 4)"),
            (
                "linear on [\"plain\", \"12\", \"a b\", \"q\"\"q\", 007, 3:4, x(y]",
                "linear on [plain, \"12\", \"a b\", \"q\"\"q\", 7, 3, x(y]",
            ),
            ("linear on \"\"", "linear on \"\""),
            ("linear on raw raw", "linear on raw raw"),
            ("rational_quadratic( median*2 ,1,alpha = 0.50 )", "rational_quadratic(median*2, 1, alpha=0.50)"),
            ("polynomial(2.0, 2^1, 3..5) raw", "polynomial(2.0, 2^1, 3..5) raw"),
        ] {
            assert_eq!(loose.parse::<KernelBank>().unwrap().to_string(), canonical);
            assert_eq!(canonical.parse::<KernelBank>().unwrap().to_string(), canonical);
            assert_eq!(loose.parse::<KernelBank>().unwrap(), canonical.parse::<KernelBank>().unwrap());
        }
    }

    fn any_number() -> impl Strategy<Value = Number> {
        let plain = |text: String| {
            let value = text.parse().unwrap();
            Number { at: At(0), text, value, exponent: None }
        };
        let power = |text: String| {
            let exponent: f64 = text[2..].parse().unwrap();
            Number { at: At(0), text, value: exponent.exp2(), exponent: Some(exponent) }
        };
        prop_oneof![
            "[1-9][0-9]{0,2}".prop_map(plain),
            "0\\.0{0,3}[1-9]{1,17}".prop_map(plain),
            "[1-9](\\.[0-9]{1,4})?[eE][-+]?[0-9]{1,2}".prop_map(plain),
            "2\\^-?[1-9]?[0-9]".prop_map(power),
        ]
    }

    fn any_factor() -> impl Strategy<Value = Factor> {
        let digits =
            |value: u32| Number { at: At(0), text: value.to_string(), value: f64::from(value), exponent: None };
        let power =
            |e: i32| Number { at: At(0), text: format!("2^{e}"), value: exp2(e.into()), exponent: Some(e.into()) };
        prop_oneof![
            any_number().prop_map(Factor::One),
            (1u32..50, 0u32..50).prop_map(move |(low, more)| Factor::Steps(digits(low), digits(low + more))),
            (-90i32..90, 0i32..50).prop_map(move |(low, more)| Factor::Steps(power(low), power(low + more))),
            (any_number(), any_number(), 2usize..500).prop_filter_map("equal ends", |(a, b, count)| {
                let (low, high) = if a.value < b.value { (a, b) } else { (b, a) };
                (low.value < high.value).then_some(Factor::Spaced(low, high, At(0), count))
            }),
        ]
    }

    fn any_values() -> impl Strategy<Value = (&'static Family, Vec<Value>, Vec<(usize, Number)>)> {
        let alpha = "0\\.[1-9]{1,9}"
            .prop_map(|text: String| (1, Number { at: At(0), value: text.parse().unwrap(), text, exponent: None }));
        let smooth = (any_width_values(), prop::option::of(alpha))
            .prop_map(|(values, alpha)| (&rational_quadratic::FAMILY, values, alpha.into_iter().collect()));
        let others = any_plain_values().prop_map(|(family, values)| (family, values, vec![]));
        prop_oneof![1 => smooth, 5 => others]
    }

    fn any_width_values() -> impl Strategy<Value = Vec<Value>> {
        let width = prop_oneof![
            any_factor().prop_map(Value::Plain),
            prop::option::of(any_factor()).prop_map(|factor| Value::Median(At(0), factor))
        ];
        prop::collection::vec(width, 1..4)
    }

    fn any_plain_values() -> impl Strategy<Value = (&'static Family, Vec<Value>)> {
        let plain = || any_factor().prop_map(Value::Plain);
        let list = |value| prop::collection::vec(value, 1..4);
        let degree = |q: u32| {
            Value::Plain(Factor::One(Number { at: At(0), text: q.to_string(), value: f64::from(q), exponent: None }))
        };
        prop_oneof![
            any_width_values().prop_map(|values| (&gaussian::FAMILY, values)),
            list(plain().boxed()).prop_map(|values| (&gaussian_gamma::FAMILY, values)),
            list(plain().boxed()).prop_map(|values| (&laplacian::FAMILY, values)),
            list(plain().boxed()).prop_map(|values| (&sigmoid::FAMILY, values)),
            list((1u32..65).prop_map(degree).boxed()).prop_map(|values| (&polynomial::FAMILY, values)),
            Just((&linear::FAMILY, Vec::new())),
        ]
    }

    fn any_name() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z]{1,4}", "[0-9]{0,3}", "[ ,:\"\\[\\]()aé]{0,4}", ".{0,5}"]
    }

    fn any_selector() -> impl Strategy<Value = Selector> {
        // Ranges laid end to end do not overlap; the shuffle tests that order is preserved.
        let lengths = prop::collection::vec((0usize..5, 1usize..5), 0..4).prop_map(|steps| {
            let mut end = 0;
            let place = |(gap, length)| {
                let start = end + gap;
                end = start + length;
                Pick::Range(start..end)
            };
            steps.into_iter().map(place).collect::<Vec<_>>()
        });
        let names = prop::collection::vec(any_name().prop_map(Pick::Name), 0..4);
        let picks = (lengths, names).prop_map(|(ranges, names)| [ranges, names].concat()).prop_shuffle();
        prop_oneof![
            any_name().prop_map(|name| Selector::View(At(0), name)),
            picks.prop_filter_map("empty", |picks| {
                let items: Vec<Item> = picks.into_iter().map(|pick| Item { at: At(0), pick }).collect();
                (!items.is_empty()).then_some(Selector::Items(items))
            }),
        ]
    }

    fn any_term() -> impl Strategy<Value = Term> {
        let each = prop_oneof![
            Just(None),
            Just(Some(Each::Column)),
            Just(Some(Each::View)),
            any_name().prop_map(|file| Some(Each::Set(file)))
        ];
        let on = prop::option::of(any_selector());
        let of_columns = (any_values(), each, on, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |((family, values, options), each, on, unscaled, raw, centred)| {
                let (each, raw) = (each.map(|each| (At(0), each)), raw || family.needs_raw());
                let (encodings, head, revcomp) = (vec![], None, false);
                Term {
                    at: At(0),
                    family,
                    values,
                    options,
                    gram: None,
                    each,
                    on,
                    unscaled,
                    raw,
                    centred,
                    encodings,
                    head,
                    revcomp,
                }
            },
        );
        let given = (any_name(), any::<bool>(), any::<bool>()).prop_map(|(name, raw, centred)| {
            let (family, values, gram) = (&precomputed::FAMILY, vec![], Some(name));
            let (options, each, on, encodings, head) = (vec![], None, None, vec![], None);
            let (unscaled, revcomp) = (false, false);
            Term {
                at: At(0),
                family,
                values,
                options,
                gram,
                each,
                on,
                unscaled,
                raw,
                centred,
                encodings,
                head,
                revcomp,
            }
        });
        prop_oneof![4 => of_columns, 1 => given]
    }

    fn any_bank_text() -> impl Strategy<Value = String> {
        prop::collection::vec(any_term(), 1..4)
            .prop_map(|terms| terms.iter().map(Term::to_string).collect::<Vec<_>>().join(", "))
    }

    /// A text either parses, and then prints to an equal bank, or fails at a position inside it.
    fn check_any(text: &str) {
        match text.parse::<KernelBank>() {
            Ok(bank) => {
                let printed = bank.to_string();
                assert_eq!(printed.parse::<KernelBank>().unwrap(), bank);
                assert_eq!(printed.parse::<KernelBank>().unwrap().to_string(), printed);
            }
            Err(Error::Bank { at, message, .. }) => {
                assert!(at <= text.chars().count(), "{text}: {at} {message}");
            }
            Err(other) => panic!("{other}"),
        }
        let _ = text.parse::<Kernel>();
    }

    proptest! {
        #[test]
        fn parse_of_a_printed_tree_is_the_tree(terms in prop::collection::vec(any_term(), 1..4)) {
            let text = terms.iter().map(Term::to_string).collect::<Vec<_>>().join(", ");
            let bank: KernelBank = text.parse().unwrap();
            prop_assert_eq!(bank.terms(), terms.as_slice(), "{}", text);
            prop_assert_eq!(bank.to_string(), text);
        }

        #[test]
        fn parse_of_any_string_does_not_panic(text in ".{0,40}") {
            check_any(&text);
        }

        #[test]
        fn parse_of_any_tokens_does_not_panic(tokens in prop::collection::vec(
            prop::sample::select(vec![
                "gaussian", "linear", "polynomial", "sigmoid", "(", ")", "[", "]", ",", ";", "..", ".", "*", "^", "2", "2^",
                "-", "1e", "10", "median", "gamma", "=", " ", "each", "on", "unscaled", "raw", "centred", "set", "\"", ":", "é", "0",
            ]), 0..16,
        )) {
            check_any(&tokens.concat());
        }

        #[test]
        fn parse_of_a_broken_text_fails_inside_it(text in any_bank_text(), cut in 0usize..200, c in any::<char>(), ascii in "[ -~]") {
            let chars: Vec<char> = text.chars().collect();
            let cut = cut % (chars.len() + 1);
            check_any(&chars[..cut].iter().collect::<String>());
            for c in [c, ascii.chars().next().unwrap_or(' ')] {
                let inserted: String = chars[..cut].iter().chain([&c]).chain(&chars[cut..]).collect();
                check_any(&inserted);
                let replaced: String = chars[..cut].iter().chain([&c]).chain(chars.get(cut + 1..).unwrap_or_default()).collect();
                check_any(&replaced);
            }
            let removed: String = chars[..cut].iter().chain(chars.get(cut + 1..).unwrap_or_default()).collect();
            check_any(&removed);
        }
    }
}
