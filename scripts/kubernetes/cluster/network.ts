/** The network of a cluster on one machine: a bridge, and a namespace with an address on it for each Pod. */
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'

/** Of the machine itself, on the bridge. */
export const HOST_ADDRESS = '10.244.0.1'
/** Addresses that load balancers have: beside those of Pods on the bridge. */
export const BALANCER_PREFIX = '10.244.255.'
/** As in the settings of the API server. */
const SERVICE_RANGE = '10.0.0.0/16'
const BRIDGE = 'weir0'
const PREFIX_BITS = 16

export class PodNetwork {
  #count = 0
  readonly #pods = new Set<number>()

  static async start(): Promise<PodNetwork> {
    await ip(
      [],
      [
        'link set lo up',
        `link add ${BRIDGE} type bridge`,
        `addr add ${HOST_ADDRESS}/${PREFIX_BITS} dev ${BRIDGE}`,
        `link set ${BRIDGE} up`,
        `route add ${SERVICE_RANGE} dev ${BRIDGE}`
      ]
    )
    // Pods reach by way of the machine what is on no bridge.
    writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
    return new PodNetwork()
  }

  /** `pid`: a process that is alone in its network namespace. Gives the address of the Pod. */
  async attach(pid: number): Promise<string> {
    const number = ++this.#count
    const address = `10.244.${(number + 1) >> 8}.${(number + 1) & 255}`
    await ip(
      [],
      [`link add pod${number} type veth peer name eth0 netns ${pid}`, `link set pod${number} master ${BRIDGE} up`]
    )
    await ip(within(pid), [
      'link set lo up',
      `addr add ${address}/${PREFIX_BITS} dev eth0`,
      'link set eth0 up',
      `route add ${SERVICE_RANGE} dev eth0`,
      `route add default via ${HOST_ADDRESS}`
    ])
    this.#pods.add(pid)
    return address
  }

  detach(pid: number): void {
    this.#pods.delete(pid)
  }

  /** All addresses of `range` ("10.245.0.0/16") are those of this Pod. */
  async route(range: string, pid: number, address: string): Promise<void> {
    await ip(within(pid), [`route add local ${range} dev lo`])
    await ip([], [`route add ${range} via ${address}`])
  }

  /** A further address, of a Service: the Pod answers for it from now on, nobody else. */
  async move(address: string, from: number | null, to: number): Promise<void> {
    if (from !== null) await this.#inPod(from, `addr del ${address}/32 dev eth0`)
    await ip(within(to), [`addr add ${address}/32 dev eth0`])
    // Neighbours would ask the Pod that had it for seconds.
    await ip([], [`neigh flush to ${address}`])
    for (const pid of this.#pods) await this.#inPod(pid, `neigh flush to ${address}`)
  }

  /** Nothing happens when the Pod has ended. */
  async #inPod(pid: number, line: string): Promise<void> {
    const isGone = () => !this.#pods.has(pid) || !existsSync(`/proc/${pid}/ns/net`)
    if (isGone()) return
    try {
      await ip(within(pid), [line])
    } catch (error) {
      if (!isGone()) throw error
    }
  }
}

const within = (pid: number): readonly string[] => ['nsenter', '--target', `${pid}`, '--net']

/** Throws an Error with what `ip` says against one of the lines. */
async function ip(prefix: readonly string[], lines: readonly string[]): Promise<void> {
  const [command = '', ...args] = [...prefix, 'ip', '-batch', '-']
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  // One that ends early says why by its code.
  child.stdin.on('error', () => undefined)
  child.stdin.end(`${lines.join('\n')}\n`)
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`ip: ${errors.trim()} (${lines.join('; ')})`)
}
