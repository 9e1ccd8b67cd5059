/** Whose requests are whose, where one client must not take what is there for all. */
import type { Offload } from './policy.ts'

/** Of an IPv6 address, what one subscriber has at least: any host of it may use all the others (RFC 6177). */
const PREFIX_GROUPS = 4

/** The client, by its address. */
export interface HasClient {
  readonly client: { readonly remoteAddress: string }
}

/** The client as far as the network identifies it: an IPv4 address, or the network of an IPv6 address. */
export function clientKey({ client }: HasClient): string {
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

/** `offload` for jobs of `ex`: they have the turns of its client. */
export function offloadFor(ex: HasClient, offload: Offload): Offload {
  return { run: (job, argument) => offload.run(job, argument, clientKey(ex)) }
}
