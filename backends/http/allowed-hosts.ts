/** Hosts that a dynamic backend may be asked for. */
import type { AllowedHost } from '#backends/http/config/snapshot.ts'

/** `portDefault`: of the scheme. Names have one owner in every case, and with a final dot (RFC 1034 section 3.1). */
export function isAllowedHost(
  allowed: readonly AllowedHost[],
  { host, port }: { readonly host: string; readonly port: number },
  portDefault: number
): boolean {
  const name = comparedHost(host)
  return allowed.some((entry) => {
    const isHost = entry.host.startsWith('.') ? name.endsWith(entry.host) : name === entry.host
    return isHost && port === (entry.port ?? portDefault)
  })
}

export function comparedHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}
