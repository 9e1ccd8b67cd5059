/** Bytes above which a body goes to the offload pool: converting takes up to 40 ns for each, a hop 90 us in all. */
export const LARGE_BYTES = 128 * 1024
