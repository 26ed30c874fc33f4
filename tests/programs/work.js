// Work for node: buffers, objects as text, packed streams and worker threads, whose blocks malloc serves.
const crypto = require('crypto');
const zlib = require('zlib');
const { pipeline } = require('stream/promises');
const { Readable, Writable } = require('stream');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

const digest = (data) => crypto.createHash('sha256').update(data).digest('hex');

// Buffers of many sizes, of which every third stays; texts made and read again.
function churn(seed) {
  const kept = [];
  for (let i = 0; i < 6000; i++) {
    const buffer = Buffer.allocUnsafeSlow(1 + (i * seed * 7919) % 70000).fill(i % 251);
    if (i % 3 === 0) kept.push(buffer.subarray(0, 64));
    if (kept.length > 500) kept.shift();
  }
  const table = {};
  for (let i = 0; i < 8000; i++) table[`key ${i * seed}`] = [i, 'x'.repeat(i % 80), { nested: i }];
  const text = JSON.stringify(table);
  if (JSON.stringify(JSON.parse(text)) !== text) throw new Error('JSON differs');
  return digest(Buffer.concat(kept)) + digest(text);
}

// Packed and unpacked again by zlib and brotli, in the threads of the pool.
async function streams(seed) {
  const source = Buffer.from(Array.from({ length: 300000 }, (_, i) => (i * i * seed) >> 3));
  const results = [];
  for (const [pack, unpack] of [
    [zlib.createGzip(), zlib.createGunzip()], [zlib.createDeflateRaw(), zlib.createInflateRaw()],
    [zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
      zlib.createBrotliDecompress()],
  ]) {
    const parts = [];
    const end = new Writable({ write(part, _, done) { parts.push(part); done(); } });
    await pipeline(Readable.from([source.subarray(0, 100001), source.subarray(100001)]), pack, unpack, end);
    const back = Buffer.concat(parts);
    if (!back.equals(source)) throw new Error('a stream differs');
    results.push(digest(back));
  }
  return results.join(' ');
}

async function work(seed) {
  return `${churn(seed)} ${await streams(seed)}`;
}

if (isMainThread) {
  const workers = [1, 2, 3].map((seed) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: seed });
    worker.on('message', resolve);
    worker.on('error', reject);
  }));
  Promise.all([work(4), ...workers]).then((all) => console.log(all.join('\n')));
} else {
  work(workerData).then((result) => parentPort.postMessage(result));
}
