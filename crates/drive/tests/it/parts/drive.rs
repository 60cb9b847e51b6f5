mod kinds;
mod places;
mod stop;
