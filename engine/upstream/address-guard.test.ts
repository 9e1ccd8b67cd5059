import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { addressGuard } from './address-guard.ts'
import { Resolver } from './resolver.ts'

const REFUSED = [
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '0:0:0:0:0:ffff:7f00:1',
  '::FFFF:10.0.0.1',
  '0000:0000:0000:0000:0000:ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1',
  '0:0:0:0:ffff:0:7f00:1',
  '0::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '::ffff:0:7f00:1',
  '0:0:0:0:ffff:0:7f00:1',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  'fd00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  // No addresses: nothing that is not understood may be dialled.
  '',
  '127.1',
  '2130706433',
  '0x7f000001',
  'localhost'
]
const ALLOWED = ['1.1.1.1', '172.15.0.1', '172.32.0.1', '8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1111', '2a00::1']

for (const ip of REFUSED) it(`refuses "${ip}"`, () => equal(addressGuard([])(ip), false))
for (const ip of ALLOWED) it(`allows ${ip}`, () => equal(addressGuard([])(ip), true))

it('allows what is listed, in every notation, and nothing else', () => {
  const guard = addressGuard(['10.1.0.0/16', '127.0.0.1', 'fd00:1::/32'])
  for (const ip of ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203', '127.0.0.1', 'fd00:1::5'])
    equal(guard(ip), true, ip)
  for (const ip of ['10.2.0.1', '127.0.0.2', 'fd00:2::1', '::1']) equal(guard(ip), false, ip)
})

it('short forms of an address are resolved before they are guarded', async () => {
  const resolver = new Resolver('127.1')
  await resolver.resolve()
  for (const { ip } of resolver.addresses) equal(addressGuard([])(ip), false, ip)
})
