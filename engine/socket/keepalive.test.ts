/** Probes of TCP towards clients, asked of the kernel. */
import { equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { llhttp } from '#engine/http/llhttp.ts'
import { openSockets } from './open-sockets.ts'
import type { Wire } from './wire.ts'

/** Hundredths of a second until the next probe of the one connection at `port`; null: there is none to come. */
function untilProbe(port: number): number | null {
  const lines = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'latin1').split('\n'))
  const ours = lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => {
      return state === '01' && Number.parseInt(local.split(':')[1]!, 16) === port
    })
  equal(ours.length, 1)
  const [kind, when] = ours[0]![5]!.split(':')
  return kind === '02' ? Number.parseInt(when!, 16) : null
}

// Only Linux can be asked like this.
for (const kind of process.platform === 'linux' ? (['handles', 'net'] as const) : []) {
  test(`each connection has the time that is set when it is accepted, over ${kind}`, async () => {
    const settings = { timeMs: 0 }
    const accepted: Wire[] = []
    const acceptor = await openSockets(llhttp().memory, kind).listen(0, settings, (wire) => accepted.push(wire))
    const probes = async () => {
      const before = accepted.length
      const client = connect(acceptor.port, '127.0.0.1')
      await once(client, 'connect')
      while (accepted.length === before) await new Promise((resolve) => setImmediate(resolve))
      const found = untilProbe(acceptor.port)
      accepted.at(-1)!.destroy()
      client.destroy()
      await once(client, 'close')
      return found
    }
    equal(await probes(), null)
    settings.timeMs = 900_000
    const long = [await probes(), await probes()]
    ok(
      long.every((when) => when !== null && when > 9_000 && when <= 90_000),
      String(long)
    )
    settings.timeMs = 90_000
    const short = [await probes(), await probes()]
    ok(
      short.every((when) => when !== null && when > 0 && when <= 9_000),
      String(short)
    )
    settings.timeMs = 0
    equal(await probes(), null)
    equal(await probes(), null)
    acceptor.close()
  })
}
