/**
 * What is secret by its name, and credentials inside text: one list for every sink (dump, page, log, fields of
 * expressions). It prefers to hide too much.
 */

export const REDACTED = '<redacted>'

/** Compared without case, "-", "_" and "."; a name that contains one of these is sensitive. */
const SENSITIVE =
  /authorization|password|passwd|passphrase|secret|token|apikey|credential|cookie|privatekey|signature|sessionid|assertion/
/** "key" on its own is too common to be searched everywhere ("keyword", "monkey"): only as the last word. */
const KEY = /(?:^|[-_.])(?:[Kk]eys?|KEYS?)$|[a-z0-9]Keys?$/

// Credentials inside text. Every repetition is bounded or unambiguous: a body of megabytes passes in linear time.
const SCHEMES = /\b(Bearer|Basic|Digest|Negotiate|ApiKey|Token)\s+[^\s,;"']+/gi
const USER_INFO = /\b([a-z][a-z0-9+.-]{0,31}:\/\/)[^/\s@"']{1,1024}@/gi
const PARAMETER = /([?&])([\w.-]{1,64})=[^&\s#"']+/g
const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g

/** How vendors begin their keys, and the header of a JWT. */
const VENDOR =
  /^(?:(?:sk|pk|rk|xai|gsk|hf|pat|xox[a-z]|gh[a-z]|github_pat|glpat|npm|whsec)[-_](?=.*\d)|A[KS]IA[A-Z0-9]{12}|AIza|eyJ[\w-]+\.)/
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
/** Letters and digits in one piece: dates, versions and words of names (gpt-4o-mini-2024-07-18) are shorter. */
const PIECE = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{16,}/

/** No name is longer. */
const NAME_CHARS_MAX = 512

/** Words run together, one of them with a digit at most: http2MaxHeaderSize. */
const WORDS = /^[a-z]{2,}\d?(?:[A-Z][a-z]{2,})+$/

/** Whether text is a key by its look, wherever it stands; names and words are not. */
export function looksLikeKey(text: string): boolean {
  if (WORDS.test(text)) return false
  return text.length > NAME_CHARS_MAX || VENDOR.test(text) || UUID.test(text) || PIECE.test(text)
}

/** Enough to recognise one's own key, not enough to use it. */
const SHOWN_CHARS = 4

/** A name as messages say it: what is a key by its look is cut off. */
export function shownName(text: string): string {
  return looksLikeKey(text) ? `${text.slice(0, SHOWN_CHARS)}...` : text
}

// Long enough to be a key. Paths and hosts are not, and are needed whole.
const WORD = /[\w+/.=-]{8,}/g

/** A message in which what is a key by its look is cut off, wherever it came from. */
export function withoutKeys(message: string): string {
  return message.replace(WORD, (word) => (/[/.]/.test(word) && !VENDOR.test(word) ? word : shownName(word)))
}

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
