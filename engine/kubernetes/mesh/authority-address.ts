/** Where the authority of a mesh is asked: what GatewayParameters and CA_ADDRESS say. */

/** Of an Istio that is installed as usual. */
export const DEFAULT_AUTHORITY = 'https://istiod.istio-system.svc:15012'
export const DEFAULT_TRUST_DOMAIN = 'cluster.local'

/** It is asked with a token, so never in clear text. The port is one from 1 to 65535. */
export const AUTHORITY_PATTERN =
  /^(?:https:\/\/)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/
export const AUTHORITY_HINT = 'must be HOST:PORT or https://HOST:PORT'

/** As SPIFFE has it (SPIFFE-ID section 2.1). */
export const TRUST_DOMAIN_PATTERN = /^[a-z0-9._-]+$/
export const TRUST_DOMAIN_HINT = 'must have lower-case letters, digits, ".", "-" and "_" alone'

export interface AuthorityAddress {
  /** Without brackets. */
  readonly host: string
  readonly port: number
}

/** Null: AUTHORITY_HINT says what is wrong. */
export function parseAuthority(text: string): AuthorityAddress | null {
  if (!AUTHORITY_PATTERN.test(text)) return null
  const address = text.replace('https://', '')
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}
