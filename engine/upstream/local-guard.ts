/**
 * The guard of a data plane whose backends others write than its operator: none of them may be this machine, or what a
 * cloud tells a machine at link-local addresses. Checked on the address that is dialled, after resolution, so that no
 * name and no spelling gets around it.
 */
import { isIn, plainAddress, rangeList } from './address-guard.ts'
import { isOwnAddress } from './own-addresses.ts'

/** Unspecified, loopback and link-local (RFC 6890), and where clouds tell a machine its secrets beside them. */
const LOCAL = rangeList([
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16'],
  // With the deprecated addresses that are compatible with IPv4, and those that are translated to it.
  ...['::/96', '::ffff:0:0:0/96', 'fe80::/10'],
  // AWS by IPv6: instances and pods; Alibaba; Azure; Oracle.
  ...['fd00:ec2::254', 'fd00:ec2::23', '100.100.100.200', '168.63.129.16', '192.0.0.192']
])

/** Whether a connection to an address literal and a port may be made. */
export type MayDial = (ip: string, port: number) => boolean

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
