//! What holds under any mix of limits.
