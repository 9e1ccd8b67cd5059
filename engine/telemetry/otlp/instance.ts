/** service.instance.id: the same in all workers of a process, and in no other process. */
import { hkdfSync } from 'node:crypto'

/** A UUID, as the conventions recommend. `secret`: that of the process, of which it tells nothing. */
export function instanceOf(secret: Uint8Array): string {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'weir service.instance.id', 16))
  // Version 8 is for bits of one's own (RFC 9562 section 5.8).
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
