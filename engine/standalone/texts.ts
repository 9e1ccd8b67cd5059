/** The texts that a path leads to: that of a file, or those of the manifests in a folder, as kubectl takes them. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CONFIG_BYTES_MAX, readAgain, readConfig } from './read.ts'

export interface NamedText {
  /** Its path, or what stands for it in messages. */
  readonly name: string
  readonly text: string
}

/** Of a folder; hidden files belong to editors, and to what mounts a ConfigMap. */
const MANIFEST_FILE = /^[^.].*\.(?:ya?ml|json)$/

/** Throws the system's error when nothing is there, and an Error when a folder has no such file. */
export function filesOf(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path]
  const names = readdirSync(path).filter((name) => MANIFEST_FILE.test(name))
  const files = names
    .toSorted()
    .map((name) => join(path, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true)
  if (files.length === 0) throw new Error('it is a folder without a file *.yaml, *.yml or *.json')
  return files
}

/** Throws an Error whose `path` is what cannot be read. */
export function readTexts(path: string): readonly NamedText[] {
  return textsOf(path, readConfig)
}

/** The same for looking again at a path that may lead to something else by now. */
export function readTextsAgain(path: string): readonly NamedText[] {
  return textsOf(path, readAgain)
}

function textsOf(path: string, read: (file: string) => string): readonly NamedText[] {
  const texts: NamedText[] = []
  let at = path
  let length = 0
  try {
    for (const file of filesOf(path)) {
      at = file
      const text = read(file)
      length += text.length
      texts.push({ name: file, text })
      if (length > CONFIG_BYTES_MAX) throw Object.assign(new Error('too long'), { code: 'EFBIG' })
    }
  } catch (error) {
    throw Object.assign(error as Error, { path: at })
  }
  return texts
}
