/** Of a configuration that the admin API takes or shows: longer ones take the main thread more than a second. */
export const CONFIG_TEXT_BYTES_MAX = 1024 * 1024
