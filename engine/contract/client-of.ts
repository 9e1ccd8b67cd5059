/** Whose requests are whose, where one client must not take what is there for all. */
import type { Exchange } from './exchange.ts'

/** Of an IPv6 address, what one subscriber has at least: any host of it may use all the others (RFC 6177). */
const PREFIX_GROUPS = 4

/** Who asks, as far as the network tells: an address of IPv4, or the network of one of IPv6. */
export function clientOf({ client }: Pick<Exchange, 'client'>): string {
  const address = client.remoteAddress
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  // "::" stands for the zeros that are missing; what is behind it is of no matter unless it reaches into the prefix.
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return groups.slice(0, PREFIX_GROUPS).join(':')
}
