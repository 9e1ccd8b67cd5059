/** What the images of the suite's manifests, and that of weir, are on this machine. */
import { join } from 'node:path'
import type { Image } from './cluster/container-process.ts'
import { PLAYERS_PROGRAM } from './transcript/players/main.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** As ENV of scripts/package/Dockerfile. */
const ENVIRONMENT =
  "export NODE_OPTIONS='--disable-warning=ExperimentalWarning --max-semi-space-size=4' MALLOC_ARENA_MAX=2"

/** `echo`: path of the suite's server. Weir is the bundle in dist. `more`: of other suites, the first that fits. */
export function imagesWith(
  echo: string,
  more: readonly (readonly [RegExp, Image])[] = []
): (name: string) => Image | null {
  const weir = `#!/bin/sh\n${ENVIRONMENT}\nexec ${process.execPath} ${join(ROOT, 'dist', 'weir.mjs')} "$@"\n`
  const images: readonly (readonly [RegExp, Image])[] = [
    ...more,
    [/\/echo-basic[:@]/, { entrypoint: [echo] }],
    // Behind UDPRoutes, which are in no profile.
    [/\/coredns[:@]/, { entrypoint: ['sh', '-c', 'exec sleep infinity'] }],
    [/^players:/, { entrypoint: [process.execPath, '--disable-warning=ExperimentalWarning', PLAYERS_PROGRAM] }],
    [/(^|\/)weir([:@]|$)/, { entrypoint: ['/usr/local/bin/weir'], programs: { weir } }]
  ]
  return (name) => images.find(([pattern]) => pattern.test(name))?.[1] ?? null
}
