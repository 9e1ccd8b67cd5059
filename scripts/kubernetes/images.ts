/** What the images of the suite's manifests, and that of weir, are on this machine. */
import { join } from 'node:path'
import type { Image } from './cluster/container-process.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** `echo`: path of the suite's server. Weir is the bundle in dist. */
export function imagesWith(echo: string): (name: string) => Image | null {
  const weir = `#!/bin/sh\nexec ${process.execPath} --disable-warning=ExperimentalWarning ${join(ROOT, 'dist', 'weir.mjs')} "$@"\n`
  const images: readonly (readonly [RegExp, Image])[] = [
    [/\/echo-basic[:@]/, { entrypoint: [echo] }],
    // Behind UDPRoutes, which are in no profile.
    [/\/coredns[:@]/, { entrypoint: ['sh', '-c', 'exec sleep infinity'] }],
    [/(^|\/)weir([:@]|$)/, { entrypoint: ['/usr/local/bin/weir'], programs: { weir } }]
  ]
  return (name) => images.find(([pattern]) => pattern.test(name))?.[1] ?? null
}
