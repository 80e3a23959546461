//! Double-double numbers of some thirty digits: the reference for functions of one variable.

/// An unevaluated sum of two numbers, the second at most half a unit in the last place of the first: some 106 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Double(pub(super) f64, pub(super) f64);

#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    let part = sum - a;
    Double(sum, (a - (sum - part)) + (b - part))
}

impl Double {
    #[inline(always)]
    pub(super) fn plus(self, other: Double) -> Double {
        let Double(high, middle) = two_sum(self.0, other.0);
        let Double(middle, low) = two_sum(middle, self.1 + other.1);
        let Double(high, middle) = two_sum(high, middle);
        two_sum(high, middle + low)
    }

    #[inline(always)]
    pub(super) fn times(self, other: Double) -> Double {
        let high = self.0 * other.0;
        let low = self.0.mul_add(other.0, -high) + self.0.mul_add(other.1, self.1 * other.0);
        two_sum(high, low)
    }

    pub(super) fn over(self, divisor: f64) -> Double {
        let high = self.0 / divisor;
        two_sum(high, ((-high).mul_add(divisor, self.0) + self.1) / divisor)
    }
}
