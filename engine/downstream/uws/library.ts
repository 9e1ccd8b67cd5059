/** The one door to uWebSockets.js: a native library that has no binary for every platform. */

import type { AppOptions, HttpResponse, TemplatedApp, us_listen_socket, us_socket } from 'uWebSockets.js'
import { isMainThread } from 'node:worker_threads'
import { turnStartedAt } from '#engine/socket/round.ts'
import { HEAD_BYTES_MAX } from './capabilities.ts'

export type {
  AppOptions,
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket,
  us_socket_context_t,
  WebSocket
} from 'uWebSockets.js'

/** What is used of it. Its own types leave out `_cfg` and the sends of fragments. */
export interface Uws {
  App(): TemplatedApp
  /** Throws when certificate and key cannot be used. */
  SSLApp(options: AppOptions): TemplatedApp
  us_listen_socket_close(socket: us_listen_socket): void
  us_socket_local_port(socket: us_socket): number
  _cfg(setting: 'silent'): void
}

/** A loaded library, or why there is none. */
export type LoadedUws = { readonly uws: Uws; readonly headBytesMax: number } | { readonly missing: string }

const HEAD_BYTES_VARIABLE = 'UWS_HTTP_MAX_HEADERS_SIZE'
/** Largest request head without that variable. */
const HEAD_BYTES_DEFAULT = 4096

/**
 * Lets uWebSockets.js take request heads of HEAD_BYTES_MAX bytes instead of 4 KB. It reads the
 * environment once per process, when its binary is first loaded, and a worker's process.env is a
 * copy: the main thread must call this before it starts the first worker.
 */
export function allowLargeHeads(): void {
  if (isMainThread) process.env[HEAD_BYTES_VARIABLE] ??= String(HEAD_BYTES_MAX)
}

/** Loads the library. Never rejects: a platform without a binary is served by the node transport. */
export async function loadUws(): Promise<LoadedUws> {
  allowLargeHeads()
  try {
    const uws = (await import('uWebSockets.js')) as unknown as Uws
    // Without this it adds a header with its own name to every response.
    uws._cfg('silent')
    return { uws, headBytesMax: Number(process.env[HEAD_BYTES_VARIABLE]) || HEAD_BYTES_DEFAULT }
  } catch (error) {
    return { missing: error instanceof Error ? error.message.split('\n', 1)[0]! : String(error) }
  }
}

/** So much the library collects for a socket that is corked. */
export const CORK_BYTES = 16 * 1024

/** The running turn is the library's own: it has corked the socket whose event it is. */
let libraryTurn = -1
/** Bytes that such turns, one behind the other, have put into its cork: several requests may come in one read. */
let corkedBytes = 0

/** The running turn is that of an event that the library reports. */
export function markLibraryTurn(): void {
  libraryTurn = turnStartedAt
}

/** Whether what runs may be inside of a cork of the library's, microtasks behind its events included. */
export function isLibraryTurn(): boolean {
  if (turnStartedAt === libraryTurn) return true
  corkedBytes = 0
  return false
}

/** Whether `bytes` more fit into the library's cork; counts them if so. */
export function fitsLibraryCork(bytes: number): boolean {
  if (corkedBytes + bytes > CORK_BYTES) return false
  corkedBytes += bytes
  return true
}

let isPrimed = false

/**
 * pause() and resume() of uWebSockets.js keep what a socket was polled for in one place for all sockets
 * of a thread, filled by the first pause. Resuming before any socket was paused in the same state
 * would stop it for good: so the first response of a thread pauses and resumes at once.
 */
export function primePause(res: HttpResponse): void {
  if (isPrimed) return
  isPrimed = true
  restart(res)
}

/** Starts the library's own clock of 10 s anew; what is polled for stays as it is. */
export function restart(res: HttpResponse): void {
  res.pause()
  res.resume()
}

/** Reads on after a pause, and has the library send what it had buffered when it was paused. */
export function reopen(res: HttpResponse): void {
  res.resume()
  drain(res)
  // What resume() restored may be another socket's state; a pause now notes and restores our own.
  restart(res)
}

/** Sends what the library has buffered. With an onWritable handler it does not do so by itself. */
export function drain(res: HttpResponse): void {
  res.cork(nothing)
}

function nothing(): void {}
