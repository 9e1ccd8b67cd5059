/**
 * What is secret by its name, and credentials inside text: one list for every sink (dump, page, log, fields of
 * expressions). It prefers to hide too much.
 */

export const REDACTED = '<redacted>'

/** Compared without case, "-", "_" and "."; a name that contains one of these is sensitive. */
const SENSITIVE = /authorization|password|passwd|passphrase|secret|token|apikey|credential|cookie|privatekey|signature/
/** "key" on its own is too common to be searched everywhere ("keyword", "monkey"): only as the last word. */
const KEY = /(?:^|[-_.])(?:[Kk]eys?|KEYS?)$|[a-z0-9]Keys?$/

// Credentials inside text. Every repetition is bounded or unambiguous: a body of megabytes passes in linear time.
const SCHEMES = /\b(Bearer|Basic|Digest|Negotiate|ApiKey|Token)\s+[^\s,;"']+/gi
const USER_INFO = /\b([a-z][a-z0-9+.-]{0,31}:\/\/)[^/\s@"']{1,1024}@/gi
const PARAMETER = /([?&])([\w.-]{1,64})=[^&\s#"']+/g
const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g

/** Whether text that stands under `name` (a key, a header, a query parameter, a cookie) is to be hidden. */
export function isSensitive(name: string): boolean {
  return SENSITIVE.test(name.toLowerCase().replace(/[-_.]/g, '')) || KEY.test(name)
}

/** Text with the credentials in it hidden: for error messages and other values that are mostly harmless. */
export function redactText(text: string): string {
  return redactUrl(text.replace(PRIVATE_KEY, REDACTED).replace(SCHEMES, `$1 ${REDACTED}`))
}

/** A URL, or its path and query, without the credentials in it. */
export function redactUrl(text: string): string {
  return text
    .replace(USER_INFO, `$1${REDACTED}@`)
    .replace(PARAMETER, (all, mark: string, name: string) => (isSensitive(name) ? `${mark}${name}=${REDACTED}` : all))
}
