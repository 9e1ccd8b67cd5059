/**
 * The guard of a data plane whose backends others write than its operator: none of them may be this machine, or what a
 * cloud tells a machine at link-local addresses. Checked on the address that is dialled, after resolution, so that no
 * name and no spelling gets around it.
 */
import type { MayDial } from '#engine/contract/guarded-fetch.ts'
import { isIn, plainAddress, rangeList } from './address-guard.ts'
import { isOwnAddress } from './own-addresses.ts'

/** Unspecified, loopback and link-local (RFC 6890), and where clouds tell a machine its secrets beside them. */
const LOCAL_IPV4 = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16'],
  // Alibaba; Azure; Oracle.
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32']
]

/** NAT64 (RFC 6052, RFC 8215): IPv4 addresses by IPv6, behind a translator on the link. */
const TRANSLATED = ['64:ff9b::', '64:ff9b:1::']

const LOCAL = rangeList([
  ...LOCAL_IPV4,
  ...LOCAL_IPV4.flatMap((range) => TRANSLATED.map((prefix) => translated(prefix, range))),
  // With the deprecated addresses that are compatible with IPv4, and those that are translated to it.
  ...['::/96', '::ffff:0:0:0/96', 'fe80::/10'],
  // AWS: instances and pods; Google.
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254']
])

/** "127.0.0.0/8" -> "64:ff9b::127.0.0.0/104" */
function translated(prefix: string, range: string): string {
  const [address, bits] = range.split('/')
  return `${prefix}${address}/${96 + Number(bits)}`
}

/**
 * `allow`: CIDR ranges that may be dialled in spite of it. `ports`: of the process's own servers, which may be dialled
 * at no address of this machine.
 */
export function localGuard(allow: readonly string[], ports: ReadonlySet<number>): MayDial {
  const allowed = rangeList(allow)
  return (ip, port) => {
    const plain = plainAddress(ip)
    if (plain === null || (ports.has(port) && isOwnAddress(plain))) return false
    return !isIn(LOCAL, plain) || isIn(allowed, plain)
  }
}
