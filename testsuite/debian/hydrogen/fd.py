# A hydrogen molecule on a grid: its energy and its forces.
from ase import Atoms
from gpaw import GPAW
from gpaw.mpi import world

molecule = Atoms('H2', [(0, 0, 0), (0, 0, 0.74)])
molecule.center(vacuum=2.0)
molecule.calc = GPAW(mode='fd', h=0.3, txt=None)
energy = molecule.get_potential_energy()
forces = molecule.get_forces()
if world.rank == 0:
    print('ranks', world.size)
    print('energy', energy)
    print('forces', *forces.flat)
