/**
 * The cipher suites of docs/specification.md#frontend-tls, with the names that OpenSSL has for them, the preferred
 * first: AES-128 with SHA-256 has processor instructions for both of its parts (docs/design/026-tls-listeners.md).
 */

const OF_13: Readonly<Record<string, string>> = {
  TLS13_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS13_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS13_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256'
}

const OF_12: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305'
}

export const CIPHER_SUITES: readonly string[] = [...Object.keys(OF_13), ...Object.keys(OF_12)]

/** The version that the suite is for. */
export function versionOfSuite(name: string): '1.2' | '1.3' {
  return Object.hasOwn(OF_13, name) ? '1.3' : '1.2'
}

/**
 * The list for OpenSSL: suites of versions that are not spoken are left out, and of a version that the list has no
 * suite for all are: a list that names suites of one version limits that version. Null: all of the specification.
 */
export function openSslNames(names: readonly string[] | null, min: string, max: string): string[] {
  const versions = ['1.2', '1.3'].filter((version) => version >= min && version <= max)
  return versions.flatMap((version) => {
    const table = version === '1.3' ? OF_13 : OF_12
    const own = (names ?? []).filter((name) => Object.hasOwn(table, name)).map((name) => table[name]!)
    return own.length === 0 && names === null ? Object.values(table) : own
  })
}
