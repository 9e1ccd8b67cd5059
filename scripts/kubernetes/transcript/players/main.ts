/** The image "players" of the transcript: `node main.ts NAME` plays that one until it is killed. */
import { playEcho } from './echo.ts'
import { playMeshAuthority, playWorkload } from './mesh.ts'
import { playAuthorizer, playCollector, playLimits, playProcessor } from './services.ts'
import { playTlsServer } from './tls.ts'

const PLAYERS = {
  echo: playEcho,
  authorizer: playAuthorizer,
  limits: playLimits,
  processor: playProcessor,
  collector: playCollector,
  'mesh-authority': playMeshAuthority,
  workload: playWorkload,
  secure: playTlsServer
} as const

export type Player = keyof typeof PLAYERS

export const PLAYERS_PROGRAM = import.meta.filename

if (import.meta.main) {
  const name = process.argv[2] as Player
  await PLAYERS[name]()
}
