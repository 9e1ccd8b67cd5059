import { equal } from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { describe, it } from 'node:test'
import { localGuard } from './local-guard.ts'
import { Resolver } from './resolver.ts'

const PORTS = new Set([15000, 15020, 15021])
const REFUSED = [
  ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  ...['0:0:0:0:0:ffff:7f00:1', '::ffff:0:127.0.0.1', '169.254.169.254', '::ffff:a9fe:a9fe', '169.254.170.2', 'fe80::1'],
  ...['fe80::1%eth0', 'fd00:ec2::254', 'fd00:0ec2:0::254', '100.100.100.200', '168.63.129.16', 'localhost', ''],
  // Google by IPv6, and what NAT64 makes of addresses of IPv4.
  ...['fd20:ce::254', '64:ff9b::a9fe:a9fe', '64:ff9b::127.0.0.1', '64:ff9b:0:0::7f00:1', '64:ff9b:1::a9fe:a9fe']
]
const ALLOWED = ['10.0.0.1', '192.168.1.1', '172.16.0.1', 'fd00::1', '1.1.1.1', '2606:4700::1111', '64:ff9b::1.1.1.1']

describe('a backend of a guarded data plane', () => {
  for (const ip of REFUSED) it(`is not "${ip}"`, () => equal(localGuard([], PORTS)(ip, 80), false))
  for (const ip of ALLOWED) it(`may be ${ip}`, () => equal(localGuard([], PORTS)(ip, 80), true))

  it('may be what the operator allows, but for ports of the process itself', () => {
    const mayDial = localGuard(['127.0.0.0/8', '169.254.169.254'], PORTS)
    for (const ip of ['127.0.0.1', '::ffff:127.0.0.1', '169.254.169.254']) equal(mayDial(ip, 80), true, ip)
    for (const ip of ['::1', '169.254.170.2']) equal(mayDial(ip, 80), false, ip)
    equal(mayDial('127.0.0.1', 15000), false)
    equal(mayDial('10.255.255.254', 15000), true)
  })

  it('has none of those ports at any address of this machine', () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
    const mayDial = localGuard(['0.0.0.0/0', '::/0'], PORTS)
    for (const { address } of own) equal(mayDial(address, 15021), false, address)
  })

  it('has none of them however the address is written', () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
    const mayDial = localGuard(['0.0.0.0/0', '::/0'], PORTS)
    const spellings = own.flatMap(({ address, family }) => (family === 'IPv4' ? mapped(address) : expanded(address)))
    for (const ip of spellings) equal(mayDial(ip, 15021), false, ip)
    equal(spellings.length > 0, true)
  })

  it('is no name that leads there', async () => {
    for (const name of ['localhost', '127.1', '2130706433']) {
      const resolver = new Resolver(name)
      await resolver.resolve()
      for (const { ip } of resolver.addresses) equal(localGuard([], PORTS)(ip, 80), false, `${name} ${ip}`)
    }
  })
})

function mapped(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  return ['0:0:0:0:0:ffff:', '0::FFFF:'].flatMap((start) => [`${start}${address}`, `${start}${hex}`])
}

/** "fd00::2" -> "fd00:0:0:0:0:0:0:2", "fd00:0::2" */
function expanded(address: string): string[] {
  const [start = '', end = ''] = address.split('::')
  const count = address.split(':').filter((group) => group !== '').length
  if (!address.includes('::')) return [address.toUpperCase()]
  const zeros = Array.from({ length: 8 - count }, () => '0')
  return [[start, ...zeros, end].filter((part) => part !== '').join(':'), address.toUpperCase()]
}
