/** Settings of the whole process. */

import type { StateSpec } from '#engine/contract/accounts.ts'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import type { Secret } from '#engine/kit/secret.ts'

/** Who may use the admin port. */
export interface AdminSpec {
  /** Names by which the port is reached beside its own address, in lower case. */
  readonly hosts: readonly string[]
  readonly tokens: readonly {
    readonly name: string
    /** SHA-256 of the token, in hexadecimal digits. */
    readonly hash: Secret
    readonly role: 'see' | 'test' | 'change'
  }[]
}

/** Settings read once at start (the file's `config`). Addresses: "host:port", "unix:/path" or "off". */
export interface ProcessSettings {
  readonly adminAddr: string
  /** Absent: everybody on this machine. */
  readonly admin?: AdminSpec
  readonly statsAddr: string
  readonly readinessAddr: string
  readonly workerThreads: number
  /** Bytes of messages that all workers together keep in memory. */
  readonly bufferedBytesMax: number
  /** Where what must outlive the process is kept; absent: nowhere. */
  readonly state?: StateSpec
  readonly logging: { readonly level: string; readonly format: 'text' | 'json' }
  /** Where records of model calls are kept; absent: nowhere. */
  readonly spendLog?: SpendLogSpec
  /** Longest drain. */
  readonly terminationDeadlineMs: number
  /** Shortest drain: how long new connections are still served after SIGTERM. */
  readonly terminationMinDeadlineMs: number
  readonly upstream: {
    readonly connectTimeoutMs: number
    readonly poolIdleTimeoutMs: number
    /** Connections per endpoint and worker. */
    readonly poolMaxSize: number
    /** Requests over one connection before it is replaced; 0: no limit. */
    readonly requestsPerConnectionMax: number
    /** CIDR ranges of this machine and its link that backends may have; absent: all. */
    readonly localAddresses?: readonly string[]
  }
}
