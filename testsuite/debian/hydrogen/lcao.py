# Two molecules in atomic orbitals, whose eigenvalues ScaLAPACK finds.
from ase import Atoms
from gpaw import GPAW
from gpaw.mpi import world

molecules = Atoms('H4', [(0, 0, 0), (0, 0, 0.74), (0, 1.5, 0), (0, 1.5, 0.8)])
molecules.center(vacuum=2.0)
molecules.calc = GPAW(mode='lcao', basis='dzp', h=0.3, parallel={'sl_auto': True}, txt=None)
energy = molecules.get_potential_energy()
forces = molecules.get_forces()
if world.rank == 0:
    print('ranks', world.size)
    print('energy', energy)
    print('forces', *forces.flat)
