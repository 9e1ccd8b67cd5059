/**
 * Short names for variables inside functions of the bundle, before it is packed: a fifth of its size. Names of
 * functions and classes stay, so that stacks can be read.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { minify } from 'terser'

const dist = join(import.meta.dirname, '..', '..', 'dist')
for (const name of await readdir(dist)) {
  if (!/^weir(?:-[\w-]+)?\.mjs$/.test(name)) continue
  const path = join(dist, name)
  const { code } = await minify(await readFile(path, 'utf8'), {
    module: true,
    toplevel: false,
    compress: false,
    mangle: { keep_fnames: true, keep_classnames: true }
  })
  await writeFile(path, code!)
}
