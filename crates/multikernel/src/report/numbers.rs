//! Numbers rounded to a readable number of digits.

/// Four decimals, or two significant digits where that would leave fewer.
pub(super) fn figure(x: f64) -> String {
    if x == 0.0 || x.is_nan() || x.abs() >= 1e-3 { format!("{x:.4}") } else { format!("{x:.1e}") }
}

/// The text with its long decimals at four significant digits: `gaussian(0.9747232880672418)` as `gaussian(0.9747)`.
pub(super) fn short(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let length = rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len() - start);
        let (before, number) = (&rest[..start], &rest[start..start + length]);
        out.push_str(before);
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') && number.len() > 7 && value > 0.0 => {
                // Decimals that leave four significant digits.
                let digits = (3 - value.log10().floor() as i32).clamp(0, 12) as usize;
                out.push_str(&format!("{value:.digits$}"));
            }
            _ => out.push_str(number),
        }
        rest = &rest[start + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keeps_four_significant_digits_of_long_decimals_only() {
        let cases = [
            ("gaussian(0.9747232880672418)", "gaussian(0.9747)"),
            ("gaussian(62.38229043630348) on [0:120]", "gaussian(62.38) on [0:120]"),
            ("gaussian(gamma=0.000030517578125)", "gaussian(gamma=0.00003052)"),
            ("gaussian(0.015625), polynomial(3)", "gaussian(0.01562), polynomial(3)"),
            ("laplacian(0.1) on [0:1000000]", "laplacian(0.1) on [0:1000000]"),
            ("linear", "linear"),
        ];
        for (text, expected) in cases {
            assert_eq!(short(text), expected);
        }
    }
}
