/**
 * The address guard of dynamic forward proxies: destinations that a client names must not be the
 * gateway's own network. Checked on the address that is dialled, after resolution, so that neither a
 * name nor its second answer (DNS rebinding) gets around it. Ranges: IANA special-purpose registries
 * (RFC 6890), which include private, loopback, link-local and cloud metadata addresses.
 */
import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net'

const REFUSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4'
]

const REFUSED_V6 = [
  // Unspecified, loopback, and the deprecated addresses that are compatible with IPv4.
  '::/96',
  // IPv4-translated (RFC 2765), in every spelling.
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8'
]

const refused = rangeList([...REFUSED_V4, ...REFUSED_V6])

/** CIDR ranges, and addresses alone. */
export function rangeList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const slash = range.indexOf('/')
    const address = slash < 0 ? range : range.slice(0, slash)
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    const bits = slash < 0 ? (family === 'ipv4' ? 32 : 128) : Number(range.slice(slash + 1))
    list.addSubnet(address, bits, family)
  }
  return list
}

/** Answers whether an address literal may be dialled. `allow`: CIDR ranges that are allowed in spite of all. */
export function addressGuard(allow: readonly string[]): (ip: string) => boolean {
  const allowed = rangeList(allow)
  return (ip) => {
    const plain = plainAddress(ip)
    return plain !== null && (isIn(allowed, plain) || !isIn(refused, plain))
  }
}

export const isIn = (list: BlockList, ip: string): boolean => list.check(ip, isIPv4(ip) ? 'ipv4' : 'ipv6')

/**
 * One spelling of each address; null for what is none, which may not be dialled. A zone ("fe80::1%eth0") is no part of
 * it, and an IPv4-mapped or -compatible address is the IPv4 address that it reaches.
 */
export function plainAddress(ip: string): string | null {
  const address = ip.replace(/%.*$/, '')
  const family = isIP(address)
  if (family !== 6) return family === 4 ? address : null
  const { address: usual } = new SocketAddress({ address, family: 'ipv6' })
  return /^::(?:ffff:(?:0:)?)?(\d+\.\d+\.\d+\.\d+)$/.exec(usual)?.[1] ?? usual
}
