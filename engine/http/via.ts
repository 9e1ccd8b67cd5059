/**
 * How this process calls itself in Via (RFC 9110 section 7.6.3): the same in all of its threads, another in each
 * process. What comes back with its name has been here.
 */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { HeaderBlock } from './headers.ts'

const HASH = createHash('sha256').update(`${hostname()} ${process.pid}`).digest('hex').slice(0, 16)

/** Of requests that are passed on. */
const PSEUDONYM = `weir-${HASH}`
export const VIA = `1.1 ${PSEUDONYM}`

/** Of copies for mirrors: no part of the above, because a copy may be passed on here once. */
const COPY_PREFIX = 'weir-copy-'
export const COPY_VIA = `1.1 ${COPY_PREFIX}${HASH}`
/** Gateways that mirror to each other. */
const COPY_HOPS_MAX = 4

/** Whether it has been passed on here already. */
export function hasBeenHere(request: HeaderBlock): boolean {
  return request.getAll('via')?.includes(PSEUDONYM) === true
}

/** Whether it is a copy that was made here, or a copy of copies of copies. */
export function isCopyEnough(request: HeaderBlock): boolean {
  const via = request.has('via') ? request.getAll('via') : undefined
  if (via === undefined || !via.includes(COPY_PREFIX)) return false
  return via.includes(COPY_PREFIX + HASH) || via.split(COPY_PREFIX).length > COPY_HOPS_MAX
}
