/** Slow password hashes: runs in the threads of the offload pool, and nothing else imports it. */
import { isUtf8 } from 'node:buffer'
import { hashSync } from 'bcryptjs'
import desCrypt from 'unix-crypt-td-js'
import type { PasswordJob } from './job.ts'
import { md5Crypt } from './md5-crypt.ts'
import { ROUNDS_DEFAULT, shaCrypt } from './sha-crypt.ts'
import { isEqual, isSha1, verifySha1 } from './sha1.ts'

export function verifyPassword({ hash, password }: PasswordJob): boolean {
  if (isSha1(hash)) return verifySha1(hash, password)
  const bytes = Buffer.from(password, 'latin1')
  const [, magic = '', ...fields] = hash.split('$')
  switch (magic) {
    case '':
      // DES: the first two characters are the salt, and only eight of the password count.
      return isEqual(desCrypt([...bytes], hash.slice(0, 2)), hash)
    case '1':
    case 'apr1':
      return isEqual(md5Crypt(bytes, `$${magic}$`, fields[0]!), hash)
    case '5':
    case '6':
      return verifySha(magic === '5' ? 'sha256' : 'sha512', fields, bytes)
    default:
      return verifyBcrypt(hash, bytes)
  }
}

function verifySha(name: 'sha256' | 'sha512', fields: readonly string[], bytes: Buffer): boolean {
  const rounds = fields.length === 3 ? Number(fields[0]!.slice('rounds='.length)) : ROUNDS_DEFAULT
  return isEqual(shaCrypt(bytes, name, fields.at(-2)!, rounds), fields.at(-1)!)
}

const BCRYPT_SALT_END = 29

function verifyBcrypt(hash: string, bytes: Buffer): boolean {
  // The library takes text. No password is other than UTF-8: htpasswd gets it from a terminal.
  if (!isUtf8(bytes)) return false
  const computed = hashSync(bytes.toString(), hash.slice(0, BCRYPT_SALT_END))
  // Only the digest: the last character of a salt has unused bits, which some programs set.
  return isEqual(computed.slice(BCRYPT_SALT_END), hash.slice(BCRYPT_SALT_END))
}
