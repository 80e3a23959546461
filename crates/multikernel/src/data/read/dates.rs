//! Dates and times as days since 1970-01-01.

/// The order of day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Order {
    Ymd,
    Dmy,
    Mdy,
}

impl Order {
    pub(in crate::data) const ALL: [Order; 3] = [Order::Ymd, Order::Dmy, Order::Mdy];

    pub(in crate::data) fn word(self) -> &'static str {
        match self {
            Order::Ymd => "ymd",
            Order::Dmy => "dmy",
            Order::Mdy => "mdy",
        }
    }

    pub(in crate::data) fn of(word: &str) -> Option<Order> {
        Order::ALL.into_iter().find(|order| order.word() == word)
    }
}

/// Days since 1970-01-01 of a date, a date and time, or, as a part of a day, a time alone; `None` if it is neither.
pub(in crate::data) fn parse(text: &str, order: Order) -> Option<f64> {
    let text = text.trim();
    if let Some(time) = time(text) {
        return Some(time);
    }
    let split = text.find(['T', 't']).filter(|&at| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let split = split.or_else(|| text.rfind(' ').filter(|&at| text[at..].contains(':')));
    let (date, rest) = split.map_or((text, None), |at| (&text[..at], Some(text[at + 1..].trim())));
    let day = day(date.trim(), order)?;
    Some(day + rest.map_or(Some(0.0), time)?)
}

/// `12:30`, `12:30:15.5`, both also with `Z` or an offset such as `+02:00`, as a part of a day.
fn time(text: &str) -> Option<f64> {
    let (clock, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0.0),
        None => match text.rfind(['+', '-']).filter(|&at| at > 3) {
            Some(at) => {
                let sign = if text.as_bytes()[at] == b'-' { -1.0 } else { 1.0 };
                (&text[..at], sign * hours(&text[at + 1..])?)
            }
            None => (text, 0.0),
        },
    };
    let mut parts = clock.split(':');
    let (hour, minute) = (whole(parts.next()?, 2, 23)?, whole(parts.next()?, 2, 59)?);
    let second = match parts.next() {
        None => 0.0,
        Some(second) => {
            let plain = second.len() >= 2 && second.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            second.parse::<f64>().ok().filter(|&value| plain && value < 61.0)?
        }
    };
    let none_left = parts.next().is_none();
    none_left.then(|| ((f64::from(hour) - offset) * 3600.0 + f64::from(minute) * 60.0 + second) / 86400.0)
}

/// `02:00`, `0200` or `02` in hours.
fn hours(text: &str) -> Option<f64> {
    let (hour, minute) = match (text.split_once(':'), text.len()) {
        (Some(parts), _) => parts,
        (None, 4) => text.split_at_checked(2)?,
        (None, _) => (text, "0"),
    };
    Some(f64::from(whole(hour, 2, 14)?) + f64::from(whole(minute, 2, 59)?) / 60.0)
}

/// A whole number of at most so many digits, at most so large.
fn whole(text: &str, digits: usize, most: u32) -> Option<u32> {
    let plain = (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&value| plain && value <= most)
}

fn day(text: &str, order: Order) -> Option<f64> {
    let parts: Vec<&str> = text.split(['-', '/', '.', ' ', ',']).filter(|part| !part.is_empty()).collect();
    let [a, b, c] = parts.as_slice() else { return None };
    let marks = text.chars().filter(|c| matches!(c, '-' | '/' | '.')).collect::<Vec<_>>();
    if marks.windows(2).any(|pair| pair[0] != pair[1]) {
        return None;
    }
    let year = |text: &str| whole(text, 4, 9999).filter(|_| text.len() == 4);
    // A month by its name leaves no doubt about the order.
    let (year, month, day) = match (month(a), month(b)) {
        (Some(month), _) => (year(c)?, month, whole(b, 2, 31)?),
        (_, Some(month)) => match year(a) {
            Some(year) => (year, month, whole(c, 2, 31)?),
            None => (year(c)?, month, whole(a, 2, 31)?),
        },
        _ => match order {
            Order::Ymd => (year(a)?, whole(b, 2, 12)?, whole(c, 2, 31)?),
            Order::Dmy => (year(c)?, whole(b, 2, 12)?, whole(a, 2, 31)?),
            Order::Mdy => (year(c)?, whole(a, 2, 12)?, whole(b, 2, 31)?),
        },
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let n_days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    ((1..=12).contains(&month) && (1..=n_days).contains(&day)).then(|| days(year, month, day))
}

/// The month of an English name or its first three letters.
fn month(text: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let text = text.to_ascii_lowercase();
    let is = |name: &str| text == name || text.len() >= 3 && text.len() <= 4 && name.starts_with(&text);
    NAMES.iter().position(|name| is(name)).map(|at| at as u32 + 1)
}

/// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
fn days(year: u32, month: u32, day: u32) -> f64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let (era, month) = (year.div_euclid(400), i64::from(month));
    let in_era = year.rem_euclid(400);
    let in_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    (era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_one_another_through_all_months_and_leap_years() {
        let mut next = days(1899, 12, 31) + 1.0;
        for year in 1900..2101 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(found) = super::day(&format!("{year}-{month:02}-{day:02}"), Order::Ymd) {
                        assert_eq!(found, next, "{year}-{month}-{day}");
                        next += 1.0;
                    }
                }
            }
        }
        assert_eq!(parse("1970-01-01", Order::Ymd), Some(0.0));
        assert_eq!(parse("2000-03-01", Order::Ymd), Some(11017.0));
    }

    #[test]
    fn dates_and_times_in_their_spellings() {
        let new_year = Some(days(2021, 2, 3));
        for (text, order) in [
            ("2021-02-03", Order::Ymd),
            ("2021/2/3", Order::Ymd),
            ("03.02.2021", Order::Dmy),
            ("02/03/2021", Order::Mdy),
            ("3 Feb 2021", Order::Mdy),
            ("February 3, 2021", Order::Ymd),
            ("3-Feb-2021", Order::Dmy),
        ] {
            assert_eq!(parse(text, order), new_year, "{text}");
        }
        assert_eq!(parse("1970-01-02T06:00:00Z", Order::Ymd), Some(1.25));
        assert_eq!(parse("1970-01-02 06:00", Order::Ymd), Some(1.25));
        assert_eq!(parse("1970-01-02T08:00+02:00", Order::Ymd), Some(1.25));
        assert_eq!(parse("12:00:00", Order::Ymd), Some(0.5));
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "2021-02-30",
            "2021-13-01",
            "2021-02",
            "2021-2-3-4",
            "21-02-03",
            "2021-02/03",
            "24:00",
            "soon",
            "2021-02-03T",
        ] {
            assert_eq!(parse(text, Order::Ymd), None, "{text}");
        }
        assert_eq!(parse("31.02.2021", Order::Dmy), None);
        assert_eq!(parse("02/13/2021", Order::Dmy), None);
    }
}
