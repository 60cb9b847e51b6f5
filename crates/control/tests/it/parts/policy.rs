mod feed_forward;
mod throttle;
