/** The Date field of replies that Weir makes itself (RFC 9110 section 6.6.1), made at most once a second. */

let second = -1
let text = ''

/** The time now in IMF-fixdate, for example "Sun, 06 Nov 1994 08:49:37 GMT". */
export function httpDate(): string {
  const now = Date.now()
  const current = Math.floor(now / 1000)
  if (current !== second) {
    second = current
    text = new Date(now).toUTCString()
  }
  return text
}
