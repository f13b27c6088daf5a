/**
 * A body kept for reading more than once: in memory while it is small, then in a temporary file that is unlinked
 * as soon as it is open, so that a kill between any two lines leaves nothing behind.
 */
