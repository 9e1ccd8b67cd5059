/** Settings of a process whose backends are said by resources: their authors are not those who run it. */
import type { ProcessSettings } from '#engine/ir/process.ts'

/** No backend is this machine, unless the settings allow it. */
export function guarded(process: ProcessSettings): ProcessSettings {
  const { localAddresses = [] } = process.upstream
  return { ...process, upstream: { ...process.upstream, localAddresses } }
}
