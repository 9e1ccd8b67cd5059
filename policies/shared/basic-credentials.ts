/** The credentials of the Basic scheme (RFC 7617): base64 of "user:password". */

/** User name and password, their bytes as latin1 text: nothing is decoded that is only compared. */
export interface BasicCredentials {
  readonly user: string
  readonly password: string
}

/** What crypt(3) takes (CRYPT_MAX_PASSPHRASE_SIZE); with SHA-crypt a password costs the square of its length. */
const PASSWORD_BYTES_MAX = 512
/** 255 characters of four bytes. */
const USER_BYTES_MAX = 1020
const TEXT_MAX = Math.ceil((USER_BYTES_MAX + 1 + PASSWORD_BYTES_MAX) / 3) * 4

/** RFC 4648 section 4; padding may be left out, as some clients do. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

const COLON = 58

/** `text`: what stands behind the scheme. Null when it is malformed or longer than any sensible credential. */
export function parseBasic(text: string): BasicCredentials | null {
  if (text.length > TEXT_MAX || !BASE64.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  const colon = bytes.indexOf(COLON)
  if (colon < 0 || colon > USER_BYTES_MAX || bytes.length - colon - 1 > PASSWORD_BYTES_MAX) return null
  for (let i = 0; i < bytes.length; i++) {
    // RFC 7617 section 2: no control characters. A NUL would end the password for some hashes, and not for others.
    const byte = bytes[i]!
    if (byte < 32 || byte === 127) return null
  }
  return { user: bytes.latin1Slice(0, colon), password: bytes.latin1Slice(colon + 1) }
}
